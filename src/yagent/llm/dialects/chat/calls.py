"""Which call a piece of a Chat Completions stream belongs to (A02, A03, A28)."""

from collections.abc import Mapping
from typing import Any

from yagent.llm.assemble import arguments_text, position, read_arguments

_KNOWN = {"index", "id", "type", "function"}


class CallDraft:
    """One call while it streams."""

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.call_id = ""
        self.name = ""
        self.extra: dict[str, Any] = {}
        self._arguments: list[str] = []

    @property
    def arguments(self) -> str:
        """All argument text so far."""
        return "".join(self._arguments)

    @property
    def whole(self) -> bool:
        """The arguments are a complete JSON object already."""
        text = self.arguments
        return text.rstrip().endswith("}") and read_arguments(text)[1] is None

    def add(self, piece: Mapping[str, Any], name: str, arguments: str) -> None:
        """Take a piece; a name that is merely repeated does not grow."""
        self.call_id = self.call_id or _text(piece.get("id"))
        if name != self.name:
            self.name = name if name.startswith(self.name) else self.name + name
        if arguments:
            self._arguments.append(arguments)
        self.extra.update({key: value for key, value in piece.items() if key not in _KNOWN and value is not None})


class CallPieces:
    """New id: new call. No id and no index: the call now being streamed. A known index: its call, unless a new one clearly begins."""

    def __init__(self) -> None:
        self.drafts: list[CallDraft] = []
        self._current: CallDraft | None = None

    def add(self, piece: Any) -> None:
        """Take one element of `delta.tool_calls`."""
        if not isinstance(piece, Mapping):
            return
        function = piece.get("function")
        function = function if isinstance(function, Mapping) else {}
        name, arguments = _text(function.get("name")), arguments_text(function.get("arguments"))
        draft = self._draft_for(piece, name, arguments)
        self._current = draft
        draft.add(piece, name, arguments)

    def _draft_for(self, piece: Mapping[str, Any], name: str, arguments: str) -> CallDraft:
        call_id, index = _text(piece.get("id")), position(piece.get("index"))
        known = self._known(call_id, index)
        if known is not None and not _begins_anew(known, call_id, index, name=name, arguments=arguments):
            return known
        draft = CallDraft(index)
        self.drafts.append(draft)
        return draft

    def _known(self, call_id: str, index: int | None) -> CallDraft | None:
        if call_id:
            for draft in reversed(self.drafts):
                if draft.call_id == call_id and index in (None, draft.index):
                    return draft
        if index is None:
            return self._current
        return next((draft for draft in reversed(self.drafts) if draft.index == index), None)


def _begins_anew(known: CallDraft, call_id: str, index: int | None, *, name: str, arguments: str) -> bool:
    """A piece for a call we have is another call all the same: other id, or a full name and arguments behind finished ones."""
    if call_id and known.call_id and call_id != known.call_id:
        return bool(name) or index is None
    return bool(name and arguments and known.name and known.whole) and call_id != (known.call_id or None)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
