"""Completes the RunStarted event of a run with its system prompt, session context, tools and skills.

They are determined once, when a run starts, and stored in the event, so that a resumed, replayed or forked run sends
exactly the same text. Everything that differs between sessions is in the session context, which follows the tools in a
request: the system prompt and the tools are a prefix that providers and local servers cache across sessions.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from core.domain.events import RunStarted
from core.domain.external_agents import is_external_agent
from core.domain.provenance import new_boundary
from core.domain.text import Text
from core.engine.policy.trust import FollowedFiles, followed_files
from core.engine.prompting.instructions import LoadedInstructions, load_instructions, nested_instructions
from core.engine.prompting.profiles import load_profile
from core.engine.prompting.session_context import session_context
from core.engine.prompting.system_prompt import agent_prompt, review_prompt, system_prompt
from core.engine.prompting.tool_selection import select_tools
from core.engine.services.skills import SkillOffer, SkillService
from core.store.rule_store import RuleStore
from core.tools.catalogue import tool_names
from core.tools.sealed_files import seal_files
from core.tools.skill_tools import USE_SKILL


async def prepare_start(
    run_start: RunStarted,
    folder: Path,
    home: Path,
    rule_store: RuleStore,
    *,
    safe: bool = False,
    unconfigured_tools: Callable[[], Collection[str]] = tuple,
    skill_service: SkillService | None = None,
    mcp_tools: Callable[[], Collection[str]] = tuple,
    needs_compact: Callable[[str], Awaitable[bool]] | None = None,
) -> RunStarted:
    """Return the RunStarted event completed with the system prompt, the session context, the tools and the skills.

    Raise Problem if the agent profile, a prompt that the user replaced or a pattern of sealed files cannot be used.

    Args:
        safe: ignore all that the folder provides, even if it is trusted, and all MCP servers.
        unconfigured_tools: returns the names of built-in tools that are not configured and therefore left out.
        mcp_tools: returns the names of the tools of MCP servers.
        needs_compact: returns whether the model of this name should get a compact prompt, if `run_start` does not say.
    """
    follows = None if safe or run_start.reviewed_session else followed_files(rule_store.current(), folder)
    skill_offers = await skill_service.offered(folder, safe=safe) if skill_service else ()
    available_tools = _available_tools(unconfigured_tools(), () if safe else mcp_tools(), has_skills=bool(skill_offers))
    prompt_size = await _prompt_size(run_start, needs_compact)
    boundary = run_start.boundary or new_boundary()
    return await asyncio.to_thread(
        _complete,
        replace(run_start, prompt_size=prompt_size, boundary=boundary),
        folder,
        home,
        follows,
        skill_offers,
        available_tools,
    )


def _available_tools(unconfigured_tools: Collection[str], mcp_tools: Collection[str], *, has_skills: bool) -> list[str]:
    """Return the names of all tools that would work; `use_skill` does not without skills."""
    unavailable = set(unconfigured_tools)
    if not has_skills:
        unavailable.add(USE_SKILL)
    return [tool for tool in (*tool_names(), *mcp_tools) if tool not in unavailable]


async def _prompt_size(
    run_start: RunStarted, needs_compact: Callable[[str], Awaitable[bool]] | None
) -> Literal["full", "compact"]:
    if run_start.prompt_size:
        return run_start.prompt_size
    if run_start.reviewed_session or needs_compact is None:
        return "full"
    return "compact" if await needs_compact(run_start.model) else "full"


def _complete(
    run_start: RunStarted,
    folder: Path,
    home: Path,
    follows: FollowedFiles | None,
    skill_offers: Sequence[SkillOffer],
    available_tools: Sequence[str],
) -> RunStarted:
    """Complete an event that has its prompt size and boundary. With `follows` None, it gets no project instructions."""
    profile = load_profile(home, run_start.profile)
    compact = run_start.prompt_size == "compact" and not run_start.reviewed_session
    tools = select_tools(available_tools, run_start, profile, compact=compact)
    usable_skills = _usable_skills(skill_offers, run_start, tools)
    instructions = _instructions(run_start, folder, home, follows)
    nested_files = nested_instructions(folder) if follows else []
    role_prompt = review_prompt(home) if run_start.reviewed_session else agent_prompt(profile, home, compact=compact)
    if is_external_agent(run_start.model):
        context = ""  # External agents have their own.
    else:
        context = session_context(run_start, folder, instructions, nested_files, usable_skills, compact=compact)
    return replace(
        run_start,
        system_prompt=Text(system_prompt(role_prompt, instructions, usable_skills)),
        session_context=Text(context),
        tools=tools,
        instruction_files=tuple(loaded.file for loaded in instructions),
        skills=tuple(offer.skill for offer in usable_skills),
        sealed_digests=_sealed_digests(run_start, folder),
    )


def _usable_skills(
    skill_offers: Sequence[SkillOffer], run_start: RunStarted, tools: Collection[str]
) -> list[SkillOffer]:
    """Return the skills that are not withheld from the run; none if it has no tool to read them."""
    if USE_SKILL not in tools:
        return []
    return [offer for offer in skill_offers if offer.skill.name not in run_start.excluded]


def _instructions(
    run_start: RunStarted, folder: Path, home: Path, follows: FollowedFiles | None
) -> list[LoadedInstructions]:
    """Return the instructions of the user and of the project. External agents load their own, and reviews have none."""
    if is_external_agent(run_start.model) or run_start.reviewed_session:
        return []
    return load_instructions(folder, home, follows)


def _sealed_digests(run_start: RunStarted, folder: Path) -> Text:
    """Seal the files of the run. The run after one that removed all of them must be able to start."""
    if not run_start.sealed:
        return Text()
    return Text(json.dumps(seal_files(folder, run_start.sealed, again=bool(run_start.sealed_digests.head))))
