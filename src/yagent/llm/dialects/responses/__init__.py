"""OpenAI Responses API, stateless: nothing is stored at the provider."""

from collections.abc import Mapping

from yagent.llm.assemble import ReplyContext
from yagent.llm.dialects.dialogue import open_dialogue
from yagent.llm.dialects.failure import classify
from yagent.llm.dialects.port import Decoder, Dialect, Encoder, WireModel
from yagent.llm.dialects.responses.encode import ResponsesWriter
from yagent.llm.engine import Head
from yagent.llm.quirks import Quirks


def _encoder(head: Head, model: WireModel) -> Encoder:
    return open_dialogue(head, model, writer=ResponsesWriter, decoder=_decoder)


def _decoder(context: ReplyContext, quirks: Quirks) -> Decoder:
    from yagent.llm.dialects.responses.decode import ResponsesDecoder

    return ResponsesDecoder(context, quirks)


def _headers(key: str, quirks: Quirks) -> Mapping[str, str]:
    return {**({"authorization": f"Bearer {key}"} if key else {}), **quirks.headers}


RESPONSES = Dialect("responses", "/responses", _encoder, _headers, classify)
