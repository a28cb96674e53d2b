"""Whole runs against large real servers, only if enabled."""

import asyncio
from collections.abc import Iterator

import pytest

from core.models.api_client import UNKNOWN_LIMITS
from core.models.api_formats import API_FORMATS
from core.models.endpoint import ProviderEndpoint, RequestTimeouts
from core.models.model import ModelError, ReplyOptions
from tests.core.models.driven_run import drive_run
from tests.core.models.replies import KEY, gather, make_request, user_message
from tests.core.models.test_api_aimock import FIXTURES
from tests.servers.aimock import serve_aimock
from tests.servers.real import ENABLED, REASON
from tests.servers.real_litellm import serve_litellm
from tests.servers.real_transformers import serve_transformers

pytestmark = pytest.mark.skipif(not ENABLED, reason=REASON)
SLOW = RequestTimeouts(first_event_s=60.0, idle_s=30.0, total_s=120.0)
ROOTS = {"chat": "/v1", "responses": "/v1", "anthropic": ""}


@pytest.fixture(scope="module")
def litellm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A LiteLLM proxy with aimock behind it; its URL and API key."""
    folder = tmp_path_factory.mktemp("litellm")
    with serve_aimock(FIXTURES, folder, "-l", "5", "-c", "6") as behind, serve_litellm(behind, folder) as place:
        yield place


@pytest.mark.parametrize("wire", sorted(ROOTS))
def test_litellm_a_whole_run_with_tools_and_a_question(wire: str, litellm: tuple[str, str]) -> None:
    """LiteLLM translates each API format to the Chat Completions of aimock."""
    model = API_FORMATS[wire](
        ProviderEndpoint(litellm[0] + ROOTS[wire], litellm[1], timeouts=SLOW), "up", UNKNOWN_LIMITS
    )
    files = {"a.txt": "one\ntwo", "b.txt": "three"}
    journey = drive_run(model, "count the lines", {"read": files.__getitem__, "ask_user": lambda question: "No."})
    assert journey.asked == [("read", "a.txt"), ("read", "b.txt"), ("ask_user", "Blank lines too?")]
    assert journey.replies[-1].text == "There are 3 lines."


@pytest.mark.parametrize("wire", ["chat", "anthropic"])
@pytest.mark.parametrize(("name", "kind"), [("said", ""), ("limited", "rate_limited"), ("small", "too_long")])
def test_litellm_replies_and_errors(wire: str, name: str, kind: str, litellm: tuple[str, str]) -> None:
    model = API_FORMATS[wire](
        ProviderEndpoint(litellm[0] + ROOTS[wire], litellm[1], timeouts=SLOW), name, UNKNOWN_LIMITS
    )
    got = asyncio.run(gather(model, make_request(tools=())))
    assert (got.kind, got.text) == (kind, "" if kind else "It is said.")


def test_litellm_responses_errors_arrive_before_the_stream(litellm: tuple[str, str]) -> None:
    """LiteLLM returns status 500 with a server-sent event in the body; whole runs in this API format do pass."""
    model = API_FORMATS["responses"](
        ProviderEndpoint(f"{litellm[0]}/v1", litellm[1], timeouts=SLOW), "said", UNKNOWN_LIMITS
    )
    got = asyncio.run(gather(model, make_request(tools=())))
    assert got.kind == "server" and "Error processing stream start" in str(got.fault) and "data:" not in str(got.fault)


def test_litellm_lists_its_models(litellm: tuple[str, str]) -> None:
    listed = asyncio.run(
        API_FORMATS["chat"](
            ProviderEndpoint(f"{litellm[0]}/v1", litellm[1], timeouts=SLOW), "", UNKNOWN_LIMITS
        ).list_models()
    )
    assert {"up", "said"} <= {one.id for one in listed}


@pytest.mark.parametrize("wire", sorted(ROOTS))
def test_litellm_accepts_no_wrong_key(wire: str, litellm: tuple[str, str]) -> None:
    model = API_FORMATS[wire](ProviderEndpoint(litellm[0] + ROOTS[wire], KEY, timeouts=SLOW), "said", UNKNOWN_LIMITS)
    got = asyncio.run(gather(model, make_request()))
    assert got.kind == "key" and KEY not in str(got.fault)


@pytest.fixture(scope="module")
def transformers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A server with a model that is generated here; its URL and the name of the model."""
    with serve_transformers(tmp_path_factory.mktemp("transformers")) as place:
        yield place


def test_transformers_replies(transformers: tuple[str, str]) -> None:
    """The server never sends [DONE]; the usage comes with the finish reason."""
    model = API_FORMATS["chat"](ProviderEndpoint(transformers[0], timeouts=SLOW), transformers[1], UNKNOWN_LIMITS)
    got = asyncio.run(gather(model, make_request(tools=(), options=ReplyOptions(max_output_tokens=12))))
    assert got.kind == "" and got.text and got.usage is not None and 0 < got.usage.output <= 12


def test_transformers_works_without_its_model_list(transformers: tuple[str, str]) -> None:
    """The server's model list fails or is empty."""
    model = API_FORMATS["chat"](ProviderEndpoint(transformers[0], timeouts=SLOW), transformers[1], UNKNOWN_LIMITS)
    try:
        assert all(one.id for one in asyncio.run(model.list_models()))
    except ModelError as fault:
        assert fault.kind in ("server", "garbled")


def test_transformers_has_no_other_model(transformers: tuple[str, str]) -> None:
    model = API_FORMATS["chat"](ProviderEndpoint(transformers[0], timeouts=SLOW), "nobody/nothing", UNKNOWN_LIMITS)
    got = asyncio.run(gather(model, make_request(user_message("hello"), tools=())))
    assert got.kind in ("model", "server", "rejected", "not_a_server")
