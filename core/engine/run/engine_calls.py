"""The calls that the engine executes itself, because they need the run: questions, sub-agents, skills, the event log.

`core.tools.catalogue.ENGINE_TOOLS` has their descriptions and parameters.
"""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any

from core.domain.events import CallStarted, ToolCall, ToolReturned
from core.domain.problems import Problem
from core.domain.text import Text
from core.engine.run.context_budget import max_result_tokens, with_excerpts
from core.engine.run.manage_skill import manage_skill
from core.engine.run.recall_dropped import read_dropped
from core.engine.run.run_context import RunContext
from core.engine.run.search_sessions import search_sessions
from core.engine.run.use_skill import use_skill
from core.engine.run.user_questions import ask_user
from core.models.token_estimate import TEXT_BYTES_PER_TOKEN
from core.tools.catalogue import ASK
from core.tools.check_agent import CHECK_AGENT, CheckAgentArguments
from core.tools.delegate import NAME as DELEGATE
from core.tools.delegate import DelegateArguments
from core.tools.recall_dropped import RECALL_DROPPED, RecallDroppedArguments, timeline_text
from core.tools.search_sessions import SEARCH_SESSIONS
from core.tools.skill_tools import MANAGE_SKILL, USE_SKILL


async def delegate(run: RunContext, call: ToolCall, arguments: DelegateArguments) -> None:
    """Execute a `delegate` call, which starts sub-agents or replays recorded ones."""
    assert run.delegate is not None
    await run.delegate(run, call, arguments)


async def check_agent(run: RunContext, call: ToolCall, arguments: CheckAgentArguments) -> None:
    """Execute a `check_agent` call, which waits for a sub-agent in the background, messages or stops it."""
    assert run.check_agent is not None
    await run.check_agent(run, call, arguments)


async def recall_dropped(run: RunContext, call: ToolCall, arguments: RecallDroppedArguments) -> None:
    """Answer a `recall_dropped` call from the event log."""
    try:
        max_chars = int(max_result_tokens(run) * TEXT_BYTES_PER_TOKEN)
        content = await read_dropped(run, arguments, max_chars)
        result = ToolReturned(call.id, Text(content.text), attachments=content.attachments)
    except Problem as problem:
        result = ToolReturned(call.id, Text(str(problem)), failed=True)
    started = CallStarted(call.id, RECALL_DROPPED, "read_back", timeline_text(arguments))
    await run.record(started, *with_excerpts(run, [result]))


ENGINE_CALLS: Mapping[str, Callable[[RunContext, ToolCall, Any], Awaitable[None]]] = MappingProxyType(
    {
        ASK: ask_user,
        DELEGATE: delegate,
        CHECK_AGENT: check_agent,
        RECALL_DROPPED: recall_dropped,
        SEARCH_SESSIONS: search_sessions,
        USE_SKILL: use_skill,
        MANAGE_SKILL: manage_skill,
    }
)
