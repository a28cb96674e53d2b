"""Every life of a session keeps its promises; and the machine that says so does catch planted bugs."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from core.domain.events import Call, CallStarted, Entry, RunEnded
from core.domain.ids import question_id
from core.engine import loop
from core.engine.acts import act
from core.engine.answers import Answers
from core.engine.conversation import Conversation
from core.engine.runs import Runs
from core.engine.work import Work
from core.tools.ask import question
from core.tools.catalogue import TOOLS, read_arguments
from tests.core.engine.life import SCRIPTS, WISHES, Wishes, live, wishes

BRIEF = settings(
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)


def lives(count: int, drawn: st.SearchStrategy[Wishes] = WISHES) -> None:
    """So many of them, always the same."""
    test = given(st.sampled_from(SCRIPTS), drawn)(live)
    settings(BRIEF, max_examples=count)(test)()


def test_every_life_keeps_its_promises() -> None:
    lives(25)


async def _act_first(run: Work, call: Call) -> None:
    """The effect before the fact that announces it."""
    parameters = read_arguments(call.tool, call.arguments.head)
    if call.tool not in TOOLS:
        await run.ask(question(parameters, question_id(run.session, call.id)), call.id)
        return
    tool = TOOLS[call.tool]
    events, blobs = await act(tool, call.id, parameters, run.place, run.seen)
    await run.record(CallStarted(call.id, tool.name, tool.kind, tool.object(parameters)), *events, blobs=blobs)


async def _nothing(*given: Any) -> dict[str, str]:
    return {}


def _deaf_to_ends(real: Callable[[Conversation, Entry], None]) -> Callable[[Conversation, Entry], None]:
    def hear(talk: Conversation, entry: Entry) -> None:
        pending = dict(talk.pending)
        real(talk, entry)
        if isinstance(entry.event, RunEnded):
            talk.messages = [message for message in talk.messages if message.call_id not in pending]

    return hear


class _Forgetful(set[str]):
    def add(self, name: str) -> None:
        return


def _open_to_all(real: Callable[..., None]) -> Callable[..., None]:
    def init(self: Runs, *given: Any, **more: Any) -> None:
        real(self, *given, **more)
        self.answers = Answers(self._journal, self._reader, _Forgetful())

    return init


def _no_turns(runs: Runs, session: str) -> asyncio.Lock:
    return asyncio.Lock()


MUTANTS: dict[str, tuple[Any, str, Any, str]] = {
    "acts before it says so": (loop, "perform", _act_first, "acted twice, or without a fact"),
    "runs a doubted call again by itself": (Runs, "doubted", _nothing, "acted again without a word"),
    "leaves crashed runs as they look": (Runs, "recover", _nothing, "a crash left a run that looks"),
    "owes results after an end": (Conversation, "hear", _deaf_to_ends(Conversation.hear), "before its results"),
    "takes two answers": (Runs, "__init__", _open_to_all(Runs.__init__), "an answer counted"),
    "lets wishes overtake each other": (Runs, "turn", _no_turns, "began twice or ended twice"),
}


# Where a bug shows only after one wish of many, few others are drawn: here a step on, and an answer.
NARROW = {"takes two answers": wishes(st.sampled_from([0, 2]))}


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_bugs_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    *bug, said = MUTANTS[name]
    monkeypatch.setattr(*bug)
    with pytest.raises(Exception) as caught:  # an assertion, or a group that holds it where the timing was lucky
        lives(200, NARROW.get(name, WISHES))
    assert said in repr(caught.value)
