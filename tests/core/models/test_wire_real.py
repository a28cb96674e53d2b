"""Whole runs against large servers that others wrote; only when they are asked for."""

import asyncio
from collections.abc import Iterator

import pytest

from core.models.model import Fault, Wanted
from core.models.server import Patience, Server
from core.models.wire import UNKNOWN
from core.models.wires import WIRES
from tests.core.models.journeys import travel
from tests.core.models.replies import KEY, asking, gather, said
from tests.core.models.test_wire_aimock import FIXTURES
from tests.servers.aimock import serve_aimock
from tests.servers.real import ASKED_FOR, REASON
from tests.servers.real_litellm import serve_litellm
from tests.servers.real_transformers import serve_transformers

pytestmark = pytest.mark.skipif(not ASKED_FOR, reason=REASON)
SLOW = Patience(first_s=60.0, silence_s=30.0, whole_s=120.0)
ROOTS = {"chat": "/v1", "responses": "/v1", "anthropic": ""}


@pytest.fixture(scope="module")
def litellm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A proxy with aimock behind it."""
    folder = tmp_path_factory.mktemp("litellm")
    with serve_aimock(FIXTURES, folder, "-l", "5", "-c", "6") as behind, serve_litellm(behind, folder) as place:
        yield place


@pytest.mark.parametrize("wire", sorted(ROOTS))
def test_litellm_a_whole_run_with_tools_and_a_question(wire: str, litellm: tuple[str, str]) -> None:
    """What it translates from aimock's chat."""
    model = WIRES[wire](Server(litellm[0] + ROOTS[wire], litellm[1], patience=SLOW), "up", UNKNOWN)
    files = {"a.txt": "one\ntwo", "b.txt": "three"}
    journey = travel(model, "count the lines", {"read": files.__getitem__, "ask_user": lambda question: "No."})
    assert journey.asked == [("read", "a.txt"), ("read", "b.txt"), ("ask_user", "Blank lines too?")]
    assert journey.replies[-1].text == "There are 3 lines."


@pytest.mark.parametrize("wire", ["chat", "anthropic"])
@pytest.mark.parametrize(("name", "kind"), [("said", ""), ("limited", "rate_limited"), ("small", "too_long")])
def test_litellm_replies_and_faults(wire: str, name: str, kind: str, litellm: tuple[str, str]) -> None:
    model = WIRES[wire](Server(litellm[0] + ROOTS[wire], litellm[1], patience=SLOW), name, UNKNOWN)
    got = asyncio.run(gather(model, asking(tools=())))
    assert (got.kind, got.text) == (kind, "" if kind else "It is said.")


def test_litellm_says_nothing_in_advance_as_responses(litellm: tuple[str, str]) -> None:
    """It answers 500 with an event in it; whole runs on that wire do pass."""
    model = WIRES["responses"](Server(f"{litellm[0]}/v1", litellm[1], patience=SLOW), "said", UNKNOWN)
    got = asyncio.run(gather(model, asking(tools=())))
    assert got.kind == "server" and "Error processing stream start" in str(got.fault) and "data:" not in str(got.fault)


def test_litellm_lists_its_models(litellm: tuple[str, str]) -> None:
    listed = asyncio.run(
        WIRES["chat"](Server(f"{litellm[0]}/v1", litellm[1], patience=SLOW), "", UNKNOWN).list_models()
    )
    assert {"up", "said"} <= {one.id for one in listed}


@pytest.mark.parametrize("wire", sorted(ROOTS))
def test_litellm_takes_no_wrong_key(wire: str, litellm: tuple[str, str]) -> None:
    model = WIRES[wire](Server(litellm[0] + ROOTS[wire], KEY, patience=SLOW), "said", UNKNOWN)
    got = asyncio.run(gather(model, asking()))
    assert got.kind == "key" and KEY not in str(got.fault)


@pytest.fixture(scope="module")
def transformers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A server of its own model, which is made here."""
    with serve_transformers(tmp_path_factory.mktemp("transformers")) as place:
        yield place


def test_transformers_replies(transformers: tuple[str, str]) -> None:
    """It never says [DONE]; the usage comes with the finish."""
    model = WIRES["chat"](Server(transformers[0], patience=SLOW), transformers[1], UNKNOWN)
    got = asyncio.run(gather(model, asking(tools=(), wanted=Wanted(max_output=12))))
    assert got.kind == "" and got.text and got.usage is not None and 0 < got.usage.output <= 12


def test_transformers_is_not_held_up_by_its_list(transformers: tuple[str, str]) -> None:
    """Which fails, or is empty."""
    model = WIRES["chat"](Server(transformers[0], patience=SLOW), transformers[1], UNKNOWN)
    try:
        assert all(one.id for one in asyncio.run(model.list_models()))
    except Fault as fault:
        assert fault.kind in ("server", "garbled")


def test_transformers_has_no_other_model(transformers: tuple[str, str]) -> None:
    model = WIRES["chat"](Server(transformers[0], patience=SLOW), "nobody/nothing", UNKNOWN)
    got = asyncio.run(gather(model, asking(said("hello"), tools=())))
    assert got.kind in ("model", "server", "rejected", "not_a_server")
