"""Selects the tools of a run."""

from collections.abc import Collection, Sequence

from core.domain.events import RunStarted
from core.engine.prompting.profiles import AgentProfile
from core.tools.catalogue import COMPACT_TOOLS
from core.tools.more_tools import DEFERRED_TOOLS, MORE_TOOLS_NAME
from core.tools.recall_dropped import RECALL_DROPPED


def select_tools(
    available_tools: Sequence[str], run_start: RunStarted, profile: AgentProfile, *, compact: bool
) -> tuple[str, ...]:
    """Return the names of the tools that the run may use. `compact` tells whether its prompt is a compact one.

    There is always at least one, because no tools in a RunStarted event would mean all tools.
    """
    limits = _tool_limits(run_start, profile, compact=compact)
    allowed = [tool for tool in available_tools if all(tool in limit for limit in limits)]
    if DEFERRED_TOOLS.keys().isdisjoint(allowed):
        selected = [tool for tool in allowed if tool != MORE_TOOLS_NAME]
    else:
        selected = allowed
    return tuple(selected) or (RECALL_DROPPED,)


def _tool_limits(run_start: RunStarted, profile: AgentProfile, *, compact: bool) -> list[Collection[str]]:
    """Return the lists that a tool must be on for the run to use it."""
    limits: list[Collection[str]] = []
    if profile.tools is not None:
        limits.append(profile.tools)
    elif compact:
        limits.append(COMPACT_TOOLS)
    if run_start.script_role or run_start.reviewed_session:  # A sub-agent or a review was started with a list of tools.
        limits.append(run_start.tools)
    return limits
