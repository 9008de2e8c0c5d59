"""Anthropic Messages API."""

from collections.abc import Mapping

from yagent.llm.assemble import ReplyContext
from yagent.llm.dialects.dialogue import open_dialogue
from yagent.llm.dialects.failure import classify
from yagent.llm.dialects.messages.encode import MessagesWriter
from yagent.llm.dialects.port import Decoder, Dialect, Encoder, WireModel
from yagent.llm.engine import Head
from yagent.llm.quirks import Quirks

_VERSION = "2023-06-01"  # the one third-party gateways know, too


def _encoder(head: Head, model: WireModel) -> Encoder:
    return open_dialogue(head, model, writer=MessagesWriter, decoder=_decoder)


def _decoder(context: ReplyContext, quirks: Quirks) -> Decoder:
    from yagent.llm.dialects.messages.decode import MessagesDecoder

    return MessagesDecoder(context, quirks)


def _headers(key: str, quirks: Quirks) -> Mapping[str, str]:
    sign_in = {"authorization": f"Bearer {key}"} if quirks.bearer else {"x-api-key": key}
    return {"anthropic-version": _VERSION, **(sign_in if key else {}), **quirks.headers}


MESSAGES = Dialect("anthropic", "/messages", _encoder, _headers, classify)
