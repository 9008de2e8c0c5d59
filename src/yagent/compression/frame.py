"""What a rewritten conversation is written with: the words around it, and how much room there is."""

from yagent.compression.measure import Counter
from yagent.prompts.text import Prompts
from yagent.records import dataclass

NOTHING = "none"
LEAST = 150  # tokens of content without which a rewritten conversation is of no use


@dataclass(frozen=True, slots=True)
class Frame:
    """`budget` is what the new message may take in tokens, `id` the name under which `read_artifact` gives what it replaces."""

    counter: Counter
    prompts: Prompts
    budget: int
    id: str

    def left_out(self) -> str:
        """The line that stands where something is missing."""
        return self.prompts.text("compression/left_out.md", id=self.id)

    def room(self, template: str) -> int:
        """Tokens that are left for content when the template stands with nothing in it; 0 when they are too few."""
        empty = self.prompts.text(template, **dict.fromkeys(self.prompts.variables(template), NOTHING))
        left = self.budget - self.counter.count(empty)
        return left if left >= LEAST else 0
