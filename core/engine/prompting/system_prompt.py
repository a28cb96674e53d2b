"""The system prompt of a run, and the session context: the folder, the date, the skills and the project instructions.

Both are built once, when a run starts, and stored in the RunStarted event, so that a resumed, replayed or forked run
sends exactly the same text. Everything that differs between sessions is in the session context, which follows the
tools in a request: the system prompt and the tools are a prefix that providers and local servers cache across sessions.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from datetime import date, datetime
from importlib import resources
from itertools import islice
from pathlib import Path
from string import Template

from core.domain.events import RunStarted
from core.domain.external_agents import is_external_agent
from core.domain.problems import Problem
from core.domain.provenance import ContentSource, mark_as_data, new_boundary
from core.domain.skill import DESCRIPTION_LIMIT, SKILL_SOURCES
from core.domain.text import Text
from core.domain.visible import visible
from core.engine.policy.trust import FollowedFiles, followed_files
from core.engine.prompting.instructions import LoadedInstructions, load_instructions, nested_instructions
from core.engine.prompting.profiles import AgentProfile, load_profile, profile_prompt
from core.engine.services.skills import SkillOffer, SkillService
from core.store.rule_store import RuleStore
from core.tools.catalogue import COMPACT_TOOLS, tool_names
from core.tools.folder_walk import FolderWalk, printable_path
from core.tools.more_tools import DEFERRED_TOOLS, MORE_TOOLS_NAME
from core.tools.recall_dropped import RECALL_DROPPED
from core.tools.sealed_files import seal_files
from core.tools.skill_tools import USE_SKILL

# Limits of the list of the folder's files in a compact prompt.
MAX_LISTED_FILES = 20
MAX_LIST_CHARS = 600
SKILLS_MAX_CHARS = 4_000  # limit of each of the two skill lists in a prompt
SKILL_DESCRIPTION_MAX_CHARS = DESCRIPTION_LIMIT


async def prepare_start(
    run_start: RunStarted,
    folder: Path,
    home: Path,
    rule_store: RuleStore,
    *,
    safe: bool = False,
    unconfigured: Callable[[], Collection[str]] = tuple,
    skills: SkillService | None = None,
    mcp_tools: Callable[[], Collection[str]] = tuple,
    needs_compact: Callable[[str], Awaitable[bool]] | None = None,
) -> RunStarted:
    """Return the RunStarted event completed with the system prompt, the tools and the skills.

    Args:
        safe: ignore everything that the folder provides, even if it is trusted.
        unconfigured: returns the names of built-in tools that are not configured and therefore left out.
        mcp_tools: returns the names of the tools of MCP servers.
        needs_compact: returns whether the model of this name should get a compact prompt, if `run_start` does not say.
    """
    if not run_start.prompt_size:
        compact = needs_compact is not None and not run_start.reviewed_session and await needs_compact(run_start.model)
        run_start = replace(run_start, prompt_size="compact" if compact else "full")
    follows = None if safe else followed_files(rule_store.current(), folder)
    offered = await skills.offered(folder, safe=safe) if skills else ()
    return await asyncio.to_thread(
        _prepare, run_start, folder, home, follows, unconfigured(), offered, () if safe else mcp_tools()
    )


def today() -> date:
    """Return the date in the user's time zone."""
    return datetime.now().astimezone().date()


def _prepare(
    run_start: RunStarted,
    folder: Path,
    home: Path,
    follows: FollowedFiles | None,
    absent: Collection[str],
    offered: Sequence[SkillOffer],
    extra_tools: Collection[str],
) -> RunStarted:
    profile = load_profile(home, run_start.profile)
    is_external = is_external_agent(run_start.model)
    is_review = bool(run_start.reviewed_session)
    compact = run_start.prompt_size == "compact" and not is_review
    instructions = [] if is_external or is_review else load_instructions(folder, home, follows)
    boundary = run_start.boundary or new_boundary()
    tools = _tools(run_start, profile, {*absent, *(() if offered else (USE_SKILL,))}, extra_tools, compact=compact)
    offered = [offer for offer in offered if offer.skill.name not in run_start.excluded] if USE_SKILL in tools else ()
    project_skills = [offer for offer in offered if offer.row.source == "folder"]
    other_skills = [offer for offer in offered if offer.row.source != "folder"]
    system = _replaceable(home, "review") if is_review else system_prompt(profile, home, compact=compact)
    own = _own_instructions(instructions)
    nested = nested_instructions(folder) if follows and not is_review else []
    context = session_context(
        folder,
        today(),
        boundary,
        skills_section(project_skills, "folder_skills"),
        [loaded for loaded in instructions if not loaded.is_own],
        file_list(folder) if compact and not is_external else "",
    )
    context = _sections(
        context,
        _nested_list(nested, boundary) if nested else "",
        _template("helper", name=run_start.script_role) if run_start.script_role else "",
        _template("shape", schema=run_start.output_schema.head) if run_start.output_schema.head else "",
        _template("sealed", patterns=", ".join(map(visible, run_start.sealed))) if run_start.sealed else "",
    )
    return replace(
        run_start,
        sealed_digests=_sealed_digests(run_start, folder),
        system_prompt=Text(_sections(system, own, _template("data"), skills_section(other_skills, "skills"))),
        session_context=Text() if is_external else Text(context),  # an external agent has its own
        tools=tools,
        instruction_files=tuple(loaded.file for loaded in instructions),
        boundary=boundary,
        skills=tuple(offer.skill for offer in offered),
    )


def _tools(
    run_start: RunStarted,
    profile: AgentProfile,
    unavailable: Collection[str],
    extra_tools: Collection[str],
    *,
    compact: bool,
) -> tuple[str, ...]:
    """Return the names of the tools of a run. `extra_tools` are those of MCP servers."""
    names = [name for name in (*tool_names(), *extra_tools) if name not in unavailable]
    if profile.tools is not None:
        names = [name for name in names if name in profile.tools]
    # Sub-agents and reviews have only the tools in `run_start`.
    if run_start.script_role or run_start.reviewed_session:
        names = [name for name in names if name in run_start.tools]
    if compact and profile.tools is None:
        names = [name for name in names if name in COMPACT_TOOLS]
    if DEFERRED_TOOLS.keys().isdisjoint(names):
        names = [name for name in names if name != MORE_TOOLS_NAME]
    return tuple(names) or (RECALL_DROPPED,)  # In RunStarted, an empty tuple would mean all tools.


def _sealed_digests(run_start: RunStarted, folder: Path) -> Text:
    """Seal the files of the run. The run after one that removed all of them must be able to start."""
    if not run_start.sealed:
        return Text()
    return Text(json.dumps(seal_files(folder, run_start.sealed, again=bool(run_start.sealed_digests.head))))


def _replaceable(home: Path, name: str, /, **values: str) -> str:
    """Return the prompt `name`, filled in with `values`: the user's file in `prompts`, or else the built-in one."""
    own = home / "prompts" / f"{name}.md"
    try:
        text = own.read_text("utf-8").strip()
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"{own} cannot be read.", f"{error}.", "Fix it, or move it away.") from error
    return Template(text).safe_substitute(values) if text else _template(name, **values)


def skills_section(offered: Sequence[SkillOffer], template: str) -> str:
    """Return the prompt section that lists the skills, within `SKILLS_MAX_CHARS`.

    If the list is too long, descriptions are shortened first, then omitted, and finally the least used skills are
    omitted. The order does not depend on the use, so that the section rarely changes and stays in prompt caches.
    """
    rows = [offer.row for offer in offered if not offer.row.user_only]
    if not rows:
        return ""
    rows.sort(key=lambda row: (not row.pinned, SKILL_SOURCES.index(row.source), -row.use_count, row.name))
    for max_chars in (SKILL_DESCRIPTION_MAX_CHARS, SKILL_DESCRIPTION_MAX_CHARS // 3, 0):
        lines = {
            row.name: f"- {row.name}" + (f": {_one_line(row.description, max_chars)}" if max_chars else "")
            for row in rows
        }
        if sum(map(len, lines.values())) <= SKILLS_MAX_CHARS:
            break
    while sum(map(len, lines.values())) > SKILLS_MAX_CHARS:
        lines.popitem()
    included = sorted((row for row in rows if row.name in lines), key=lambda row: (not row.pinned, row.name))
    omitted_note = f"\nand {len(rows) - len(included)} more" if len(included) < len(rows) else ""
    return _template(template, list="\n".join(lines[row.name] for row in included) + omitted_note)


def _one_line(text: str, max_chars: int) -> str:
    line = " ".join(visible(text).split())
    return line if len(line) <= max_chars else line[: max_chars - 1].rstrip() + "…"


def system_prompt(agent: AgentProfile, home: Path, *, compact: bool = False) -> str:
    """Return the part of the system prompt that describes the agent and its working style."""
    names = {"name": agent.name, "role": f" {agent.role.strip()}" if agent.role.strip() else ""}
    first = _replaceable(home, "compact" if compact else "agent", **names)
    return _sections(first, profile_prompt(agent), "" if compact else _replaceable(home, "manners", **names))


def session_context(
    folder: Path, day: date, boundary: str, skills: str, instructions: list[LoadedInstructions], files: str
) -> str:
    """Return the text that precedes the first user message of a session.

    Text that does not change between sessions in this folder comes first, so that it stays in prompt caches. It is
    followed by the random data token (`boundary`) and the project instructions, which are marked with it.
    """
    return _sections(
        _template("folder", folder=str(folder), today=f"{day:%A}, {day.isoformat()}"),
        files,
        skills,
        _template("token", boundary=boundary),
        _template("guides") if any(loaded.text for loaded in instructions) else "",
        *(_marked_instructions(loaded, boundary) for loaded in instructions if loaded.text),
    )


def _own_instructions(instructions: Sequence[LoadedInstructions]) -> str:
    """Return the section with the user's own instructions, which apply in every folder; "" if there are none."""
    texts = [loaded.text for loaded in instructions if loaded.is_own and loaded.text]
    return _template("own", text="\n\n".join(texts)) if texts else ""


def _nested_list(names: Sequence[str], boundary: str) -> str:
    """Return the section that lists instruction files in subfolders, marked as data: file names are untrusted."""
    listed = mark_as_data("\n".join(names), ContentSource("folder", "files"), boundary)
    return f"{_template('nested')}\n{listed}"


def file_list(folder: Path) -> str:
    """Return the section with the first file names in the folder, for small models, which otherwise guess names.

    The names are JSON strings, so that no name can end the list. "" if the folder has no files.
    """
    paths = [printable_path(path) for path in islice(FolderWalk(folder).files(), MAX_LISTED_FILES + 1)]
    names = paths[:MAX_LISTED_FILES]
    while sum(map(len, names)) > MAX_LIST_CHARS:
        names.pop()
    listed = [*names, "…"] if len(names) < len(paths) else names
    return _template("files", names=json.dumps(listed, ensure_ascii=False)) if paths else ""


def _sections(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _marked_instructions(instructions: LoadedInstructions, boundary: str) -> str:
    file = instructions.file
    marked = mark_as_data(instructions.text, ContentSource("folder", file.name), boundary)
    if file.size > file.included:
        marked += f"\n[Truncated after {file.included:,} characters. Read the file for the rest.]"
    return marked


def _template(name: str, /, **values: str) -> str:
    text = (resources.files("resources") / "prompts" / f"{name}.md").read_text("utf-8")
    return Template(text).substitute(values).strip()
