"""Random session lifecycles keep the invariants, and the checks catch planted bugs."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from core.domain.events import CallStarted, EventRecord, RunEnded, ToolCall
from core.domain.ids import question_id
from core.engine.lifecycle.answer_recorder import AnswerRecorder
from core.engine.lifecycle.run_controller import RunController
from core.engine.run import loop
from core.engine.run.execute import execute_call
from core.engine.run.run_context import RunContext
from core.engine.state.conversation import Conversation
from core.tools.ask_user import to_question
from core.tools.catalogue import TOOLS, read_arguments
from tests.core.engine.lifecycles import ACTIONS, SCRIPTS, Actions, actions, play

BRIEF = settings(
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)


def lives(count: int, drawn: st.SearchStrategy[Actions] = ACTIONS) -> None:
    """Play `count` lifecycles, the same ones each time."""
    test = given(st.sampled_from(SCRIPTS), drawn)(play)
    settings(BRIEF, max_examples=count)(test)()


def test_every_lifecycle_keeps_its_promises() -> None:
    lives(25)


async def _act_first(run: RunContext, call: ToolCall) -> None:
    """Execute a call before recording that it has started."""
    parameters = read_arguments(call.tool, call.arguments.head)
    if call.tool not in TOOLS:
        await run.ask(to_question(parameters, question_id(run.session, call.id)), call.id)
        return
    tool = TOOLS[call.tool]
    events, blobs = await execute_call(tool, call.id, parameters, run.tool_context, run.read_digests)
    await run.record(CallStarted(call.id, tool.name, tool.kind, tool.describe(parameters)), *events, blobs=blobs)


async def _nothing(*given: Any) -> dict[str, str]:
    return {}


def _deaf_to_ends(real: Callable[[Conversation, EventRecord], None]) -> Callable[[Conversation, EventRecord], None]:
    def apply(talk: Conversation, entry: EventRecord) -> None:
        pending = dict(talk.pending)
        real(talk, entry)
        if isinstance(entry.event, RunEnded):
            talk.messages = [message for message in talk.messages if message.call_id not in pending]

    return apply


class _Forgetful(set[str]):
    def add(self, name: str) -> None:
        return


def _open_to_all(real: Callable[..., None]) -> Callable[..., None]:
    def init(self: RunController, *given: Any, **more: Any) -> None:
        real(self, *given, **more)
        self.answers = AnswerRecorder(self._journal, self._reader, _Forgetful())

    return init


def _no_turns(runs: RunController, session: str) -> asyncio.Lock:
    return asyncio.Lock()


MUTANTS: dict[str, tuple[Any, str, Any, str]] = {  # last, a pattern of the failure
    "acts before it says so": (loop, "handle_call", _act_first, "a call was executed twice or without an event"),
    "repeats an unresolved call by itself": (
        RunController,
        "unresolved_calls",
        _nothing,
        "a call was repeated unasked|a call was executed twice",  # whichever check comes first
    ),
    "leaves crashed runs as they look": (RunController, "recover", _nothing, "a crash left a run that appears"),
    "owes results after an end": (Conversation, "apply", _deaf_to_ends(Conversation.apply), "before its results"),
    "takes two answers": (RunController, "__init__", _open_to_all(RunController.__init__), "an answer did not count"),
    "lets actions overtake each other": (RunController, "session_lock", _no_turns, "began twice or ended twice"),
}


# For a bug that shows only after one particular action, only a few actions are drawn.
NARROW = {
    "repeats an unresolved call by itself": actions(st.sampled_from([0, 1])),  # a step, a crash and a continuation
    "takes two answers": actions(st.sampled_from([0, 2])),  # a step and an answer
}


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_bugs_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    *bug, said = MUTANTS[name]
    monkeypatch.setattr(*bug)
    with pytest.raises(Exception) as caught:  # an assertion error, or an exception group that contains one
        lives(200, NARROW.get(name, ACTIONS))
    assert re.search(said, repr(caught.value))
