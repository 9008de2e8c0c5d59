"""Which encoding older than UTF-8 is the plausible one for some bytes: strict decoding first, then what the characters look like.

A wrong guess shows wrong characters, but never costs a byte: edits are made on bytes.
"""

from __future__ import annotations

from collections.abc import Callable

_ENOUGH = 0.45

# The characters that are most frequent in running text; they tell apart encodings whose code ranges overlap.
_CHINESE = frozenset(
    "的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可里后小么心多天而能好都然没日于起还发成事只作当想看文"
    "无开手十用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿者向情部正名定女问力机给等"
    "這來國個說們為時會過學對後麼沒於還發當無開見經頭動兩長樣現將與進實點種聲話兒問機給東电数据文件设置标题名称京"
)
_KOREAN = frozenset(
    "이다는을가의에고하지를은로한도서기사나어자리라인아대그시있수일부들과해만것여전으정상장주제원보마구안"
    "성조니면오게데우소모요자스비물생동문말했공"
)


def guess(sample: bytes) -> list[str]:
    """Codecs whose decoding of `sample` reads as text, the most plausible first; empty when none does."""
    scored = ((score(sample), codec) for codec, score in _SCORES)
    return [codec for value, codec in sorted(scored, key=lambda pair: -pair[0]) if value >= _ENOUGH]


def _decoded(sample: bytes, codec: str) -> str | None:
    # The sample may end inside a character.
    for cut in range(3):
        try:
            return sample[: len(sample) - cut].decode(codec)
        except UnicodeDecodeError as error:
            if error.start < len(sample) - 4:
                return None
    return None


def _wide(codec: str, weigh: Callable[[str], float]) -> Callable[[bytes], float]:
    def score(sample: bytes) -> float:
        text = _decoded(sample, codec)
        characters = [character for character in text or "" if character > "\x7f"]
        return sum(map(weigh, characters)) / len(characters) if characters else 0.0

    return score


def _japanese(character: str) -> float:
    if "\u3041" <= character <= "\u30ff":
        return 1.0
    if _punctuation(character):
        return 0.8
    return _by_first_byte(character, "euc_jp", 0xB0, 0xCF, 0.7)


def _chinese_simplified(character: str) -> float:
    if character in _CHINESE:
        return 1.0
    return 0.8 if _punctuation(character) else _by_first_byte(character, "gb2312", 0xB0, 0xD7, 0.7)


def _chinese_traditional(character: str) -> float:
    if character in _CHINESE:
        return 0.95
    return 0.75 if _punctuation(character) else _by_first_byte(character, "big5", 0xA4, 0xC6, 0.65)


def _korean(character: str) -> float:
    if character in _KOREAN:
        return 1.0
    return 0.75 if _punctuation(character) else _by_first_byte(character, "euc_kr", 0xB0, 0xC8, 0.6)


def _punctuation(character: str) -> bool:
    return "\u3000" <= character <= "\u3020" or "\uff01" <= character <= "\uff5e"


def _by_first_byte(character: str, codec: str, first: int, last: int, weight: float) -> float:
    """National standards put frequent characters in the rows `first` to `last`."""
    try:
        lead = character.encode(codec)[0]
    except UnicodeEncodeError:
        return 0.05
    return weight if first <= lead <= last else 0.2


def _japanese_unix(sample: bytes) -> float:
    text = _decoded(sample, "euc_jp")
    kana = any("\u3041" <= character <= "\u30ff" for character in text or "")
    return _wide("euc_jp", _japanese)(sample) * (1.0 if kana else 0.8)


def _western(sample: bytes) -> float:
    text = _decoded(sample, "cp1252") or ""
    weights = [_western_weight(text, index) for index, character in enumerate(text) if character > "\x7f"]
    return sum(weights) / len(weights) if weights else 0.0


def _western_weight(text: str, index: int) -> float:
    neighbours = text[max(0, index - 1) : index] + text[index + 1 : index + 2]
    foreign = sum(neighbour > "\x7f" for neighbour in neighbours)
    if not text[index].isalpha():
        return 0.8 if text[index] in "‘’“”„–—…€™©®°«»·§£¿¡•\xa0²³½" and not foreign else 0.2
    if foreign == 2:
        return 0.1
    if any("a" <= neighbour.lower() <= "z" for neighbour in neighbours):
        return 1.0
    return 0.3 if foreign else 0.6


def _cyrillic(codec: str) -> Callable[[bytes], float]:
    def score(sample: bytes) -> float:
        text = _decoded(sample, codec) or ""
        weights = [_cyrillic_weight(text, index) for index, character in enumerate(text) if character > "\x7f"]
        return sum(weights) / len(weights) if weights else 0.0

    return score


def _cyrillic_weight(text: str, index: int) -> float:
    character, previous, following = text[index], text[max(0, index - 1) : index], text[index + 1 : index + 2]
    if not "\u0400" <= character <= "\u04ff":
        return 0.7 if character in "«»–—№…" else 0.1
    if any("a" <= neighbour.lower() <= "z" for neighbour in previous + following):
        return 0.1
    if not (_is_cyrillic(previous) or _is_cyrillic(following)):
        return 0.3
    return 0.2 if character.isupper() and _is_cyrillic(previous) and previous.islower() else 0.9


def _is_cyrillic(character: str) -> bool:
    return "\u0400" <= character <= "\u04ff"


_SCORES: tuple[tuple[str, Callable[[bytes], float]], ...] = (
    ("cp932", _wide("cp932", _japanese)),
    ("gb18030", _wide("gb18030", _chinese_simplified)),
    ("big5", _wide("big5", _chinese_traditional)),
    ("cp949", _wide("cp949", _korean)),
    ("euc_jp", _japanese_unix),
    ("cp1252", _western),
    ("cp1251", _cyrillic("cp1251")),
    ("koi8_r", _cyrillic("koi8_r")),
)
