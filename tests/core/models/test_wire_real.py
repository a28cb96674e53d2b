"""Whole runs against large servers that others wrote; only when they are asked for."""

import asyncio
from collections.abc import Iterator

import pytest

from core.models.server import Patience, Server
from core.models.wire import UNKNOWN
from core.models.wires import WIRES
from tests.core.models.journeys import travel
from tests.core.models.replies import asking, gather
from tests.core.models.test_wire_aimock import FIXTURES
from tests.servers.aimock import serve_aimock
from tests.servers.real import ASKED_FOR, REASON
from tests.servers.real_litellm import serve_litellm

pytestmark = pytest.mark.skipif(not ASKED_FOR, reason=REASON)
SLOW = Patience(first_s=60.0, silence_s=30.0, whole_s=120.0)
ROOTS = {"chat": "/v1", "responses": "/v1", "anthropic": ""}


@pytest.fixture(scope="module")
def litellm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A proxy with aimock behind it."""
    folder = tmp_path_factory.mktemp("litellm")
    with serve_aimock(FIXTURES, folder, "-l", "5", "-c", "6") as behind, serve_litellm(behind, folder) as url:
        yield url


@pytest.mark.parametrize("wire", sorted(ROOTS))
def test_litellm_a_whole_run_with_tools_and_a_question(wire: str, litellm: str) -> None:
    """What it translates from aimock's chat."""
    model = WIRES[wire](Server(litellm + ROOTS[wire], patience=SLOW), "up", UNKNOWN)
    files = {"a.txt": "one\ntwo", "b.txt": "three"}
    journey = travel(model, "count the lines", {"read": files.__getitem__, "ask_user": lambda question: "No."})
    assert journey.asked == [("read", "a.txt"), ("read", "b.txt"), ("ask_user", "Blank lines too?")]
    assert journey.replies[-1].text == "There are 3 lines."


@pytest.mark.parametrize("wire", sorted(ROOTS))
@pytest.mark.parametrize(("name", "kind"), [("said", ""), ("limited", "rate_limited"), ("small", "too_long")])
def test_litellm_replies_and_faults(wire: str, name: str, kind: str, litellm: str) -> None:
    model = WIRES[wire](Server(litellm + ROOTS[wire], patience=SLOW), name, UNKNOWN)
    got = asyncio.run(gather(model, asking(tools=())))
    assert (got.kind, got.text) == (kind, "" if kind else "It is said.")


def test_litellm_lists_its_models(litellm: str) -> None:
    listed = asyncio.run(WIRES["chat"](Server(f"{litellm}/v1", patience=SLOW), "", UNKNOWN).list_models())
    assert {"up", "said"} <= {one.id for one in listed}
