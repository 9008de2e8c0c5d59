"""What survives every rewriting verbatim, whatever a summary says: the user's words, rules, goal, plan, changed files, running work."""

from collections.abc import Sequence

from yagent.compression.compaction import Facts
from yagent.compression.cutting import first_part, last_part
from yagent.compression.frame import NOTHING, Frame
from yagent.records import dataclass
from yagent.thoughts.rebuild import kept_words


@dataclass(frozen=True, slots=True)
class Fitted:
    """The facts as they stand in the message, each a text; `size` in tokens. `newest` are the user's last words, `earlier` those before."""

    rules: str
    goal: str
    earlier: str
    newest: str
    open_items: str
    files_changed: str
    running: str
    size: int


def fit(facts: Facts, budget: int, frame: Frame) -> Fitted:
    """The facts in about `budget` tokens: the newest words and the rules first, the user's older words last, rules among them first.

    Where something is left out, a line says so.
    """
    purse = _Purse(budget, frame)
    return Fitted(
        newest=purse.text(facts.user_inputs[-1] if facts.user_inputs else "", budget // 3),
        rules=purse.rules(facts.rules, budget // 3),
        goal=purse.text(facts.goal, budget // 8),
        open_items=purse.lines([f"- {item}" for item in facts.open_items], budget // 6),
        running=purse.lines([f"- {item}" for item in facts.running], budget // 8),
        files_changed=purse.newest_lines([f"- {path}" for path in facts.files_changed], budget // 8),
        earlier=purse.words(facts.user_inputs[:-1]),
        size=purse.spent,
    )


def listed(facts: Facts) -> str:
    """All of the facts, uncut, for whoever pages back."""
    said = [f"[user] {text}" for text in facts.user_inputs]
    return "\n".join([*facts.rules, facts.goal, *said, *facts.open_items, *facts.files_changed, *facts.running]).strip()


class _Purse:
    """Spends the budget, fact by fact."""

    def __init__(self, budget: int, frame: Frame) -> None:
        self._left = budget
        self._frame = frame
        self._count = frame.counter.count
        self._notice = self._count(frame.left_out()) + 1
        self.spent = 0

    def text(self, text: str, most: int) -> str:
        """The text, or its beginning and its end: where something long is pasted, what is wanted stands before or after it."""
        if not text.strip():
            return NOTHING
        allowed = min(most, self._left)
        if first_part(text, allowed, self._count) == text:
            return self._paid(text, is_whole=True)
        half = max(allowed - self._notice, 0) // 2
        parts = (first_part(text, half, self._count), self._frame.left_out(), last_part(text, half, self._count))
        return self._paid("\n".join(filter(None, parts)), is_whole=True)

    def rules(self, rules: Sequence[str], most: int) -> str:
        """The rules, the newest first; of a text that is too long the lines that state one, or else its beginning."""
        allowed = min(most, self._left)
        kept = kept_words(rules, allowed - self._notice, self._count)
        if rules and not kept.words:
            return self.text(rules[-1], allowed)
        return self._paid("\n".join(text for _, text in kept.words), is_whole=kept.words == tuple(enumerate(rules)))

    def lines(self, lines: Sequence[str], most: int) -> str:
        """As many of the first lines as fit."""
        return self._taken(lines, most, is_newest=False)

    def newest_lines(self, lines: Sequence[str], most: int) -> str:
        """As many of the last lines as fit, in their order."""
        return self._taken(list(reversed(lines)), most, is_newest=True)

    def words(self, inputs: Sequence[str]) -> str:
        """What is left of the budget in words of the user."""
        kept = kept_words(inputs, max(self._left - self._notice, 0), self._count)
        is_whole = kept.words == tuple(enumerate(inputs))
        return self._paid("\n".join(f"- {text}" for _, text in kept.words), is_whole=is_whole)

    def _taken(self, lines: Sequence[str], most: int, *, is_newest: bool) -> str:
        allowed = min(most, self._left) - self._notice
        taken = []
        for line in lines:
            allowed -= self._count(line) + 1
            if allowed < 0:
                break
            taken.append(line)
        is_whole = len(taken) == len(lines)
        return self._paid("\n".join(reversed(taken) if is_newest else taken), is_whole=is_whole)

    def _paid(self, text: str, *, is_whole: bool) -> str:
        shown = text if is_whole else "\n".join(filter(None, (text, self._frame.left_out())))
        size = self._count(shown)
        self._left -= size
        self.spent += size
        return shown or NOTHING
