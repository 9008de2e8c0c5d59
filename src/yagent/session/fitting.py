"""What making conversations fit takes in a session: counters that learn, thresholds, and the way back to what was taken out."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from yagent.agents.loop.conversation import Conversation
from yagent.agents.loop.fitting import Fitting, FittingParts
from yagent.compression.threshold import CompressionSettings, Window, threshold_of
from yagent.llm.token_calibration import CalibrationStore
from yagent.llm.token_ranks import rank_folders
from yagent.llm.tokens import TokenCounter
from yagent.prompts.text import Prompts
from yagent.protocol.client import CompressionStatistics
from yagent.protocol.events.shared import CompressionTier
from yagent.protocol.messages import ModelIdentity
from yagent.records import dataclass
from yagent.rollout.marks import Segment
from yagent.runtime.supervise import in_thread
from yagent.thoughts.log import ThoughtLog
from yagent.tools.surface import Surface

RESERVED = 8192  # tokens kept free for a reply, a quarter of a small window
UNKNOWN_TOOL = 10  # priority of results whose tool is not on the surface (any more)
THRESHOLD = "YAGENT_COMPRESS_THRESHOLD"


@dataclass(frozen=True, slots=True)
class FittingSettings:
    """`threshold` is the text of the environment variable that beats everything; `data_directory` may hold vocabularies."""

    compression: CompressionSettings
    environ: Mapping[str, str]
    data_directory: Path


class Fittings:
    """Makes the fitting of each conversation of a session, and finds what any of them took out."""

    def __init__(self, prompts: Prompts, settings: FittingSettings, store: CalibrationStore) -> None:
        self._prompts = prompts
        self._settings = settings
        self._store = store
        self._made: list[Fitting] = []
        self._earlier: list[tuple[Segment, ...]] = []

    @property
    def is_on(self) -> bool:
        """Whether conversations are compressed at all."""
        return self._settings.compression.enable_context_compression

    def make(self, conversation: Conversation, thoughts: ThoughtLog, fits: "Fits", *, begun: int, earlier: tuple[Segment, ...]) -> Fitting:
        """The fitting of a conversation with a model; `begun` and `earlier` belong to one that was taken up from its record."""
        counter = TokenCounter(fits.model.fingerprint, self._store)
        window = _window(fits.model)
        configured = self._settings.compression.context_compression_threshold
        parts = FittingParts(
            counter=counter,
            prompts=self._prompts,
            settings=self._settings.compression,
            window=window,
            threshold=threshold_of(window, configured, self._settings.environ.get(THRESHOLD, "")),
            head=lambda: counter.of_head(fits.system, fits.surface.declarations()),
            priority=lambda name: UNKNOWN_TOOL if (spec := fits.surface.find(name)) is None else spec.priority,
            name=fits.name,
            load=lambda: counter.load(rank_folders(self._settings.environ, self._settings.data_directory)),
            summary_limit=None if fits.summariser == fits.model else threshold_of(_window(fits.summariser)),
        )
        fitting = Fitting(conversation, thoughts, parts, begun=begun)
        self._made.append(fitting)
        if earlier:
            self._earlier.append(earlier)
        return fitting

    @property
    def statistics(self) -> tuple[CompressionStatistics, ...]:
        """What each tier did that ran, the mildest first."""
        done = [each for fitting in self._made for each in fitting.done]
        tiers: tuple[CompressionTier, ...] = get_args(CompressionTier)
        return tuple(_together(found) for tier in tiers if (found := [each for each in done if each.tier == tier]))

    async def full_text(self, identifier: str) -> str | None:
        """The text that an id in a conversation stands for, None when there is none such."""
        for fitting in reversed(self._made):
            if (text := fitting.dropped(identifier)) is not None:
                return text
        if not self._earlier:
            return None
        from yagent.session.taken_out import taken_out

        for segments in reversed(self._earlier):
            if (text := await in_thread(taken_out, segments, identifier)) is not None:
                return text
        return None


@dataclass(frozen=True, slots=True)
class Fits:
    """What a conversation has to fit, and how its compressions are called: `name` comes before their number. `summariser` is the model that
    summarises it."""

    model: ModelIdentity
    summariser: ModelIdentity
    system: str
    surface: Surface
    name: str


def _together(done: Sequence[CompressionStatistics]) -> CompressionStatistics:
    """Several of one tier."""
    largest = max(each.original_tokens for each in done)
    return CompressionStatistics(done[0].tier, len(done), sum(each.saved_tokens for each in done), largest)


def most_tokens(model: ModelIdentity) -> int:
    """The size a conversation may have by the catalogue (B-78), whatever the user set; 0 where nobody knows the model's window."""
    return 0 if model.context_window is None else threshold_of(_window(model))


def _window(model: ModelIdentity) -> Window:
    total = model.context_window
    return Window(total, RESERVED if total is None else min(RESERVED, total // 4))
