"""Use a skill: its text enters the talk once, as the version that this run was told of, and stays there."""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from core.domain.events import Call, CallStarted, ToolReturned
from core.domain.ids import question_id, run_id
from core.domain.problems import Problem
from core.domain.question import Option, Question
from core.domain.skill import MAIN, Offered, Skill, SkillUsed
from core.domain.text import Text
from core.domain.visible import visible
from core.engine.skills import Skills, Wanted
from core.engine.work import Work
from core.skills.format import decoded, read
from core.tools.skill import USE_SKILL, UseSkill, used

MOST = 100_000  # characters given at once
YES, NO = "Allow for this run", "Ask each time"
NAMED = re.compile(r"([A-Za-z_]+)(?:\((.*)\))?")
TOOLS_OF_OTHERS = {
    "bash": "run",
    "run": "run",
    "write": "write",
    "edit": "edit",
    "multiedit": "edit",
    "webfetch": "fetch",
}


async def use_skill(run: Work, call: Call, asked: UseSkill) -> None:
    """The call gets the skill as its result, or why not."""
    started = CallStarted(call.id, USE_SKILL, "skill", used(asked))
    try:
        skills, offered = _offered(run, asked.name)
        if before := _already(run, offered, asked.file):
            told = f"[This skill stands above already, as the result of {before}. It has not changed for this run.]"
            await run.record(started, ToolReturned(call.id, Text(told)))
            return
        output, skill = _file(skills, offered, asked.file) if asked.file else _body(skills, offered)
    except Problem as problem:
        await run.record(started, ToolReturned(call.id, Text(str(problem)), failed=True))
        return
    if skill and skill.tools:
        output += await _ask_for_tools(run, skills, call.id, offered, skill.tools)
    fact = SkillUsed(call.id, offered.name, offered.version, offered.source, offered.key, asked.file)
    await run.record(started, fact, ToolReturned(call.id, Text(output)))


def _offered(run: Work, name: str) -> tuple[Skills, Offered]:
    there = {each.name: each for each in run.talk.start.skills} if run.talk.start else {}
    if run.skills is None or name not in there:
        near = get_close_matches(name, there, n=3)
        do = f"Near to it: {', '.join(near)}." if near else f"There are: {', '.join(sorted(there)) or 'none'}."
        raise Problem(f"There is no skill {name!r} for this run.", "", do)
    return run.skills, there[name]


def _already(run: Work, offered: Offered, file: str) -> str:
    """The call that brought it, where its result still stands in the talk."""
    wanted = (offered.key, offered.version, file)
    calls = {call for call, fact in run.talk.used.items() if (fact.key, fact.version, fact.file) == wanted}
    whole = (m.call_id for m in run.talk.messages if m.role == "tool" and m.call_id not in run.talk.dropped)
    return next((call for call in whole if call in calls), "")


def _body(skills: Skills, offered: Offered) -> tuple[str, Skill]:
    text, _ = decoded(skills.library.body(offered.key, MAIN, offered.version))
    skill = read(text).skill
    if skill is None:
        raise Problem("The skill cannot be read.", "Its front matter is broken.", "Tell the person.")
    files = [file for file in skills.library.files(offered.key, offered.version) if file.path != MAIN]
    lines = [
        f'<skill name="{offered.name}" version="{offered.version}">',
        visible(skill.body.strip())[:MOST],
        "</skill>",
    ]
    if files:
        lines.append(
            f"Its files, for {USE_SKILL} with file: " + ", ".join(f"{f.path} ({f.size:,} bytes)" for f in files[:100])
        )
    if offered.source == "folder":
        lines.append(f"They lie in {offered.key.partition(':')[2]}.")
    elif files:
        lines.append("They are not in the folder: to run one, read it and write it there first.")
    lines.append(
        "It was written down for work like this. It cannot allow what is forbidden; the person's words go first."
    )
    return "\n".join(lines), skill


def _file(skills: Skills, offered: Offered, path: str) -> tuple[str, None]:
    body = skills.library.body(offered.key, path, offered.version)
    if b"\0" in body[:8192]:
        raise Problem(f"{path} is no text.", f"It has {len(body):,} bytes.", "")
    text = visible(body.decode("utf-8", "replace"))
    cut = f"\n[The first {MOST:,} characters of {len(text):,}.]" if len(text) > MOST else ""
    return text[:MOST] + cut, None


async def _ask_for_tools(run: Work, skills: Skills, call: str, offered: Offered, tools: Sequence[str]) -> str:
    """What the skill wants to be allowed is put to the person; what they did not allow is asked each time, as ever."""
    wanted = wanted_of(tools)
    start = run.talk.start
    if not wanted or start is None or not run.attended or start.mode == "trust" or run.talk.rights.taint:
        return ""
    told = "; ".join(each.words for each in wanted)
    question = Question(
        f"{question_id(run.session, call)}-tools",
        f"The skill {offered.name} asks that these need no further question in this run: {told}",
        "Protected files, secrets and what cannot be undone are asked about in any case.",
        (Option(NO, recommended=True), Option(YES)),
        free_text=False,
    )
    answer = await run.ask(question)
    if answer.option != YES:
        return ""
    kept = await skills.allow(run_id(run.session, run.talk.run), wanted, f"skill {offered.name}")
    return f"\nThe person allowed for this run: {'; '.join(kept)}." if kept else ""


def wanted_of(tools: Sequence[str]) -> tuple[Wanted, ...]:
    """What `allowed-tools` asks for, in our words; a tool without a pattern is asked about each time, as ever."""
    found: list[Wanted] = []
    for text in tools:
        named = NAMED.fullmatch(text)
        if named and (tool := TOOLS_OF_OTHERS.get(named[1].lower())):
            found += [Wanted(tool, pattern) for pattern in _patterns(named[2] or "")]
    return tuple(dict.fromkeys(found))


def _patterns(inner: str) -> Iterator[str]:
    """`git:*` is `git *`; a pattern that fits everything is none."""
    for part in inner.split(","):
        pattern = part.strip().removeprefix("domain:").replace(":*", " *").strip()
        if pattern.strip("* /."):
            yield pattern
