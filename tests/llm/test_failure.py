"""What a provider's error means."""

from __future__ import annotations

import json

import pytest

from yagent.llm.dialects.failure import DETAIL_LIMIT, classify, failure, stream_failure
from yagent.llm.dialects.port import RejectedRequest
from yagent.llm.engine import ContextTooLong, ModelConfigurationError, ModelError, ModelGaveUp, RateLimited, TransientModelError


def _error(message: str = "", **fields: object) -> bytes:
    return json.dumps({"error": {"message": message, **fields}}).encode()


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, _error("Incorrect API key"), ModelConfigurationError),
        (403, b"", ModelConfigurationError),
        (404, _error("The model `x` does not exist", code="model_not_found"), ModelConfigurationError),
        (405, b"<html><body>Not allowed</body></html>", ModelConfigurationError),
        (301, b"", ModelConfigurationError),
        (400, _error("Unknown parameter: 'foo'.", param="foo"), RejectedRequest),
        (
            422,
            json.dumps({"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]}).encode(),
            RejectedRequest,
        ),
        (400, _error("The response was filtered due to our content management policy"), ModelGaveUp),
        (402, _error("Insufficient Balance"), ModelGaveUp),
        (429, _error("You exceeded your current quota", code="insufficient_quota"), ModelGaveUp),
        (429, _error("Your credit balance is too low"), ModelGaveUp),
        (429, _error("Rate limit reached"), RateLimited),
        (429, _error("Limit 30000, requested 50000 tokens: maximum context length"), RateLimited),
        (529, b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', RateLimited),
        (408, b"", TransientModelError),
        (409, b"", TransientModelError),
        (500, b"", TransientModelError),
        (503, b"<html><head><style>x{}</style></head><body>busy</body></html>", TransientModelError),
        (500, _error("the request exceeds the available context size"), ContextTooLong),
        (413, b"", ContextTooLong),
    ],
)
def test_kinds(status: int, body: bytes, kind: type[ModelError]) -> None:
    error = classify(status, {}, body, 0.0)
    assert type(error) is kind
    assert error.status == status


def test_the_message_tells_the_providers_words_and_what_to_do() -> None:
    error = classify(401, {}, _error("Incorrect API key provided: sk-abcdef0123456789. See docs."), 0.0)
    assert str(error) == (
        "The model server answered 401: Incorrect API key provided: [key removed] See docs. Check the provider's API key."
    )
    page = classify(503, {}, b"<html><head><style>x{}</style></head><body><h1>Down</h1> for now</body></html>", 0.0)
    assert page.detail == "Down for now"
    assert len(classify(500, {}, _error("x" * 9000), 0.0).detail) == DETAIL_LIMIT


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, RateLimited),
        ({"error": {"message": "try later", "type": "rate_limit", "code": 429}}, RateLimited),
        ({"error": {"code": 502, "message": "upstream busy"}}, TransientModelError),
        ({"error": "something"}, TransientModelError),
        ({"error": {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"}}, ContextTooLong),
        ({"error": {"type": "authentication_error", "message": "no"}}, ModelConfigurationError),
        ({"error": {"code": "insufficient_quota", "message": "no"}}, ModelGaveUp),
        ({"error": {"code": "server_error", "message": "no"}}, TransientModelError),
    ],
)
def test_errors_inside_a_stream(document: object, kind: type[ModelError]) -> None:
    assert type(stream_failure(document)) is kind


def test_the_refused_parameter_is_found_where_each_server_names_it() -> None:
    detail = {"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]}
    error = classify(422, {}, json.dumps(detail).encode(), 0.0)
    assert isinstance(error, RejectedRequest)
    assert error.rejection.parameter == "stream_options"
    error = classify(400, {}, _error("bad", param="reasoning.effort", code="unsupported_value"), 0.0)
    assert isinstance(error, RejectedRequest)
    assert (error.rejection.parameter, error.rejection.code) == ("reasoning.effort", "unsupported_value")


@pytest.mark.parametrize(("words", "end"), [("nope", "nope. Check"), ("Nope.", "Nope. Check"), ("", "401. Check")])
def test_the_providers_words_end_as_a_sentence_before_ours_begin(words: str, end: str) -> None:
    assert end in str(failure({"error": {"message": words}}, status=401, retry_after=None))
