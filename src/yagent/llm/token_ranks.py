"""Exact counts for models whose vocabulary is on this machine: tiktoken, with rank files that are there already. Nothing is downloaded.

tiktoken itself would fetch a file that it misses, so it is never asked to find one: the files are read and checked here.
"""

import base64
import hashlib
import importlib.util
import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from yagent.patterns import pattern
from yagent.records import dataclass
from yagent.runtime import supervise
from yagent.runtime.atomic import NotRegularFileError
from yagent.runtime.regular_file import open_regular

logger = logging.getLogger(__name__)

_MOST = 16 << 20  # bytes of a rank file


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """`file`: what tiktoken calls it in its cache. `split`: where text is cut before pairs are merged, as published with the vocabulary."""

    name: str
    file: str
    sha256: str
    split: str


_O200K = Vocabulary(
    "o200k_base",
    "fb374d419588a4632f3f557e76b4b70aebbca790",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "|".join(
        (
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        )
    ),
)
_CL100K = Vocabulary(
    "cl100k_base",
    "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
)
_MODELS = (
    (pattern(r"(chat)?gpt-(4o|4[.-][15](?!\d)|[5-9]|oss)|o[1-9]\b|codex"), _O200K),
    (pattern(r"gpt-(4|3\.5|35)"), _CL100K),
)


def rank_folders(environ: Mapping[str, str], data_directory: Path) -> tuple[Path, ...]:
    """Where rank files may be: ours, and the caches of tiktoken."""
    named = (environ.get(name, "") for name in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"))
    return (data_directory / "tiktoken", *(Path(name) for name in named if name), Path(tempfile.gettempdir(), "data-gym-cache"))


async def exact_counter(model: str, folders: Sequence[Path]) -> Callable[[str], int] | None:
    """Counts as the model does; None when its vocabulary is not known or not here. Takes half a second, in a thread."""
    vocabulary = vocabulary_of(model)
    if vocabulary is None or importlib.util.find_spec("tiktoken") is None:
        return None
    return await supervise.in_thread(_load, vocabulary, tuple(folders))


def vocabulary_of(model: str) -> Vocabulary | None:
    """A model's vocabulary, None where it is not known."""
    name = model.lower().rpartition("/")[2]
    return next((vocabulary for names, vocabulary in _MODELS if names.match(name)), None)


def _load(vocabulary: Vocabulary, folders: Sequence[Path]) -> Callable[[str], int] | None:
    data = next(_files(vocabulary, folders), None)
    if data is None:
        return None
    import tiktoken

    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in data.splitlines() if line)}
    encoding = tiktoken.Encoding(vocabulary.name, pat_str=vocabulary.split, mergeable_ranks=ranks, special_tokens={})
    return lambda text: len(encoding.encode_ordinary(text))


def _files(vocabulary: Vocabulary, folders: Sequence[Path]) -> Iterator[bytes]:
    for path in (folder / vocabulary.file for folder in folders):
        try:
            with open_regular(path) as file:
                data = file.read(_MOST)
        except (OSError, NotRegularFileError):
            continue
        if hashlib.sha256(data).hexdigest() == vocabulary.sha256:
            yield data
        else:
            logger.warning("%s is not %s as published and is not used", path, vocabulary.name)
