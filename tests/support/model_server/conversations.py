"""What the server remembers: how far each conversation has come, whether its prefix held, and what it gave out."""

from dataclasses import dataclass, field

from tests.support.model_server.reply import Reply
from tests.support.model_server.rules import Refused
from tests.support.model_server.view import RequestView
from tests.support.model_server.wire import signature_of


@dataclass(slots=True)
class Conversation:
    """One epoch chain of one conversation. `kept` is the share of request k that request k+1 began with, over all pairs (1.0 = all)."""

    key: tuple[str, str]
    segments: tuple[str, ...] = ()
    requests: int = 0
    kept_bytes: int = 0
    earlier_bytes: int = 0
    reply: Reply | None = None
    attempt: int = 0
    settled: bool = True
    epochs: int = 1

    @property
    def kept(self) -> float:
        """1.0 when every request began with all of the one before."""
        return self.kept_bytes / self.earlier_bytes if self.earlier_bytes else 1.0

    @property
    def paused(self) -> bool:
        """Whether the last reply asked to be sent back as it is."""
        return self.reply is not None and self.reply.reason == "pause"


@dataclass(slots=True)
class Memory:
    """All conversations of one server, the newest of equal ones last."""

    conversations: list[Conversation] = field(default_factory=list)
    signatures: dict[str, str] = field(default_factory=lambda: {signature_of(""): ""})

    def find(self, view: RequestView) -> Conversation:
        """The conversation a request belongs to; one that starts again from its beginning is a new one."""
        for conversation in reversed(self.conversations):
            if conversation.key == view.conversation and not _starts_again(conversation, view):
                return conversation
        conversation = Conversation(view.conversation)
        self.conversations.append(conversation)
        return conversation

    def peek_paused(self, view: RequestView) -> bool:
        """Whether the conversation's last reply was a pause."""
        return any(conversation.key == view.conversation and conversation.paused for conversation in self.conversations)

    def issue(self, reply: Reply) -> None:
        """Remember the signature of a reply's reasoning."""
        if reply.reasoning:
            self.signatures[signature_of(reply.reasoning)] = reply.reasoning


def advance(conversation: Conversation, view: RequestView) -> None:
    """Take a request into the conversation and measure what it kept.

    Raises:
        Refused: it does not begin with all of the request before; the conversation goes on from this request as a new epoch.
    """
    before, conversation.segments = conversation.segments, view.segments
    conversation.requests += 1
    shared = 0
    while shared < min(len(before), len(view.segments)) and before[shared] == view.segments[shared]:
        shared += 1
    conversation.kept_bytes += sum(len(part.encode()) for part in before[:shared])
    conversation.earlier_bytes += sum(len(part.encode()) for part in before)
    if shared < len(before):
        conversation.epochs += 1
        part = {0: "the tools", 1: "the system prompt"}.get(shared, f"message {shared - 2}")
        raise Refused("prefix", f"{part} changed within one conversation: was {_shown(before, shared)}, is {_shown(view.segments, shared)}")


def shared_bytes(conversation: Conversation, view: RequestView) -> int:
    """Bytes of this request that the conversation's last request already had at its beginning."""
    total = 0
    for before, now in zip(conversation.segments, view.segments, strict=False):
        if before != now:
            break
        total += len(now.encode())
    return total


def _starts_again(conversation: Conversation, view: RequestView) -> bool:
    """Before the model has said anything there is nothing to go on from, unless the very first request is repeated."""
    fresh = all(entry.role != "assistant" for entry in view.entries)
    return fresh and (conversation.segments != view.segments or conversation.settled) and conversation.requests > 0


def _shown(segments: tuple[str, ...], index: int) -> str:
    return repr(segments[index][:160]) if index < len(segments) else "missing"
