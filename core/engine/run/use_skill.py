"""The `use_skill` tool: adds a skill to the conversation once, in the version that the run was offered."""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from core.domain.events import CallStarted, ToolCall, ToolReturned
from core.domain.ids import question_id, run_id
from core.domain.problems import Problem
from core.domain.question import Question, QuestionOption
from core.domain.skill import SKILL_FILE, OfferedSkill, Skill, SkillUsed
from core.domain.text import Text
from core.domain.visible import visible
from core.engine.run.run_context import RunContext
from core.engine.services.skills import SkillPermission, SkillService
from core.skills.skill_md import decode_text, parse_skill
from core.tools.skill_tools import USE_SKILL, UseSkillArguments, use_skill_text

MAX_CHARS = 100_000  # a longer skill or file is truncated in the result
MAX_LISTED_FILES = 100
# Options of a question; the answer contains the chosen label.
ALLOW = "Allow for this run"
ASK_EACH_TIME = "Ask each time"
ALLOWED_TOOL = re.compile(r"([A-Za-z_]+)(?:\((.*)\))?")
EXTERNAL_TOOL_NAMES = {
    "bash": "run",
    "run": "run",
    "write": "write",
    "edit": "edit",
    "multiedit": "edit",
    "webfetch": "fetch",
}


async def use_skill(run: RunContext, call: ToolCall, arguments: UseSkillArguments) -> None:
    """Answer a `use_skill` call with the skill, one of its files, or an error."""
    started = CallStarted(call.id, USE_SKILL, "skill", use_skill_text(arguments))
    tools: tuple[str, ...] = ()
    try:
        offered = _find_offered(run, arguments.name)
        skills = run.skills
        assert skills is not None
        if earlier_call := _loading_call(run, offered, arguments.file):
            position = f"as the result of {earlier_call}"
            note = f"[This skill is already in the conversation above, {position}. It has not changed.]"
            await run.record(started, ToolReturned(call.id, Text(note)))
            return
        if arguments.file:
            output = _file_text(skills, offered, arguments.file)
        else:
            skill = _read_skill(skills, offered)
            output = _skill_text(skills, offered, skill)
            tools = skill.tools
    except Problem as problem:
        await run.record(started, ToolReturned(call.id, Text(str(problem)), failed=True))
        return
    if tools:
        output += await _ask_for_tools(run, skills, call.id, offered, tools)
    event = SkillUsed(
        call_id=call.id,
        name=offered.name,
        version=offered.version,
        source=offered.source,
        key=offered.key,
        file=arguments.file,
    )
    await run.record(started, event, ToolReturned(call.id, Text(output)))


def _find_offered(run: RunContext, name: str) -> OfferedSkill:
    """Return the skill that the run was offered under a name. Raise Problem if there is none."""
    skills = {skill.name: skill for skill in run.conversation.start.skills} if run.conversation.start else {}
    if run.skills is None or name not in skills:
        close = ", ".join(get_close_matches(name, skills, n=3))
        fix = f"Did you mean: {close}?" if close else f"The skills are: {', '.join(sorted(skills)) or 'none'}."
        raise Problem(f"There is no skill {name!r} in this run.", "", fix)
    return skills[name]


def _loading_call(run: RunContext, offered: OfferedSkill, file: str) -> str:
    """Return the ID of the call that loaded this file of the skill, if its result was not compacted; otherwise ""."""
    identity = (offered.key, offered.version, file)
    calls = {call for call, use in run.conversation.skills_used.items() if (use.key, use.version, use.file) == identity}
    results = (message.call_id for message in run.conversation.messages if message.role == "tool")
    return next((call for call in results if call in calls and call not in run.conversation.compacted_calls), "")


def _read_skill(skills: SkillService, offered: OfferedSkill) -> Skill:
    text, _ = decode_text(skills.library.body(offered.key, SKILL_FILE, offered.version))
    skill = parse_skill(text).skill
    if skill is None:
        raise Problem("The skill cannot be read.", "Its front matter is invalid.", "Tell the user.")
    return skill


def _skill_text(skills: SkillService, offered: OfferedSkill, skill: Skill) -> str:
    """Return the result of a call that loads a skill: its text, and how to read its files."""
    files = [file for file in skills.library.files(offered.key, offered.version) if file.path != SKILL_FILE]
    lines = [
        f'<skill name="{offered.name}" version="{offered.version}">',
        _truncated(visible(skill.body.strip())),
        "</skill>",
    ]
    if files:
        names = ", ".join(f"{file.path} ({file.size:,} bytes)" for file in files[:MAX_LISTED_FILES])
        lines.append(f"Its files, readable with {USE_SKILL} and file: {names}")
    if offered.source == "folder":
        lines.append(f"The skill is in {offered.key.partition(':')[2]}.")
    elif files:
        lines.append("The files are not in the working folder: to run one, read it and write it there first.")
    lines.append(
        "The skill describes how to do such work. It grants no permissions, and what the user says takes precedence."
    )
    return "\n".join(lines)


def _file_text(skills: SkillService, offered: OfferedSkill, path: str) -> str:
    """Return the text of a file of a skill. Raise Problem if it is a binary file."""
    body = skills.library.body(offered.key, path, offered.version)
    if b"\0" in body[:8192]:
        raise Problem(f"{path} is a binary file.", f"It has {len(body):,} bytes.", "")
    return _truncated(visible(body.decode("utf-8", "replace")))


def _truncated(text: str) -> str:
    note = f"\n[Truncated after {MAX_CHARS:,} of {len(text):,} characters.]"
    return text if len(text) <= MAX_CHARS else text[:MAX_CHARS] + note


async def _ask_for_tools(
    run: RunContext, skills: SkillService, call: str, offered: OfferedSkill, tools: Sequence[str]
) -> str:
    """Ask the user to allow the tools that the skill requests for this run. Return a note for the model, or "".

    If the user declines, each call of these tools still needs approval.
    """
    permissions = requested_permissions(tools)
    if not permissions or not _can_ask(run):
        return ""
    requested = "; ".join(permission.text for permission in permissions)
    question = Question(
        f"{question_id(run.session, call)}-tools",
        f"The skill {offered.name} requests permission for this run: {requested}",
        "Protected files, secrets and irreversible commands still need your approval.",
        (QuestionOption(ASK_EACH_TIME, recommended=True), QuestionOption(ALLOW)),
        free_text=False,
    )
    answer = await run.ask(question)
    if answer.option != ALLOW:
        return ""
    saved_rules = await skills.allow(run_id(run.session, run.conversation.run), permissions, f"skill {offered.name}")
    return f"\nThe user allowed for this run: {'; '.join(saved_rules)}." if saved_rules else ""


def _can_ask(run: RunContext) -> bool:
    """Return whether the user can be asked for permissions of a skill: not after the run has read untrusted content."""
    start = run.conversation.start
    return start is not None and run.attended and start.mode != "auto" and not run.conversation.permissions.untrusted


def requested_permissions(tools: Sequence[str]) -> tuple[SkillPermission, ...]:
    """Translate the `allowed-tools` of a skill to the tools and patterns of Journeyman.

    A tool without a pattern is omitted, so each call of that tool still needs approval.
    """
    permissions: list[SkillPermission] = []
    for text in tools:
        match = ALLOWED_TOOL.fullmatch(text)
        if match and (tool := EXTERNAL_TOOL_NAMES.get(match[1].lower())):
            permissions += [SkillPermission(tool, pattern) for pattern in _patterns(match[2] or "")]
    return tuple(dict.fromkeys(permissions))


def _patterns(inner: str) -> Iterator[str]:
    """Yield the comma-separated patterns in Journeyman's syntax: `git:*` becomes `git *`. Skip those matching all."""
    for part in inner.split(","):
        pattern = part.strip().removeprefix("domain:").replace(":*", " *").strip()
        if pattern.strip("* /."):
            yield pattern
