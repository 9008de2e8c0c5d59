"""The bytes of a request that only ever grow, with the places where a cache mark may be spliced in."""

from collections.abc import Iterator

SPARE_EVERY = 15  # blocks; a provider looks back 20 blocks from a mark (decisions, "Conversation and cache")


class Tape:
    """Pieces in order. `mark` is what a marked place receives, b"" for servers that take none.

    Marks chosen at each reading, four at most: the pinned place (system prompt), the last place of the previous request, the newest
    place, and one spare at a multiple of `SPARE_EVERY` that lies before the previous request's.
    """

    def __init__(self, mark: bytes = b"") -> None:
        self._mark = mark
        self._pieces: list[bytes] = []
        self._pinned: int | None = None
        self._places: list[int] = []
        self._last_read = 0  # how many places the newest request had
        self._previous = 0  # how many the request before it had

    @property
    def marked(self) -> bool:
        """Marks are spliced in."""
        return bool(self._mark)

    def write(self, *pieces: bytes) -> None:
        """Add bytes for good."""
        self._pieces.extend(pieces)

    def pin(self) -> None:
        """A mark always goes here. The latest call wins."""
        self._pinned = len(self._pieces)

    def place(self) -> None:
        """A mark may go here: the end of a block whose content is not blank."""
        self._places.append(len(self._pieces))

    def length(self) -> tuple[int, int]:
        """How much was written: for `beginning`."""
        return len(self._pieces), len(self._places)

    def beginning(self, length: tuple[int, int]) -> "Tape":
        """A tape of its own with what was written up to there. It is read in the place of this one; no mark goes behind that point."""
        pieces, places = length
        tape = _Beginning(self._mark)
        tape._pieces, tape._places, tape._pinned = self._pieces[:pieces], self._places[:places], self._pinned
        tape._last_read, tape._whole = self._last_read, self
        return tape

    def read(self, tail: bytes) -> list[bytes]:
        """Everything written, the chosen marks and `tail`."""
        pieces = self._pieces.copy()
        if self._mark:
            self._note_reading()
            for position in sorted(set(self._chosen()), reverse=True):
                pieces.insert(position, self._mark)
        pieces.append(tail)
        return pieces

    def _note_reading(self) -> None:
        if len(self._places) != self._last_read:
            self._previous, self._last_read = self._last_read, len(self._places)

    def _chosen(self) -> Iterator[int]:
        if self._pinned is not None:
            yield self._pinned
        if self._places:
            yield self._places[-1]
        if self._previous:
            yield self._places[self._previous - 1]
        spare = (self._previous - 1) // SPARE_EVERY * SPARE_EVERY
        if spare > 0:
            yield self._places[spare - 1]


class _Beginning(Tape):
    """A tape that goes on differently for one reading."""

    _whole: Tape

    def place(self) -> None:
        """What follows is not in the next request, so nothing of it is worth a mark."""

    def _note_reading(self) -> None:
        """The whole tape knows that it was read so far; a reading that went further left nothing here to find again."""
        self._whole._previous, self._whole._last_read = self._last_read, len(self._places)
        self._previous = min(self._last_read, len(self._places))
