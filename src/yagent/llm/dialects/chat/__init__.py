"""OpenAI Chat Completions, the format every compatible server speaks."""

from collections.abc import Mapping

from yagent.llm.assemble import ReplyContext
from yagent.llm.dialects.chat.encode import ChatWriter
from yagent.llm.dialects.dialogue import open_dialogue
from yagent.llm.dialects.failure import classify
from yagent.llm.dialects.port import Decoder, Dialect, Encoder, WireModel
from yagent.llm.engine import Head
from yagent.llm.quirks import Quirks


def _encoder(head: Head, model: WireModel) -> Encoder:
    return open_dialogue(head, model, writer=ChatWriter, decoder=_decoder)


def _decoder(context: ReplyContext, quirks: Quirks) -> Decoder:
    from yagent.llm.dialects.chat.decode import ChatDecoder

    return ChatDecoder(context, quirks)


def _headers(key: str, quirks: Quirks) -> Mapping[str, str]:
    return {**({"authorization": f"Bearer {key}"} if key else {}), **quirks.headers}


CHAT = Dialect("openai", "/chat/completions", _encoder, _headers, classify)
