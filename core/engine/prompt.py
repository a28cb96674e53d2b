"""The system text of a run: who the agent is, where it works, its manners, and what the folder says of itself.

It is made once, when a run starts, and kept with that fact: a resumed, replayed or forked run is sent the same bytes.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from importlib import resources
from pathlib import Path
from string import Template

from core.domain.events import Guide, RunStarted
from core.domain.problems import Problem
from core.domain.provenance import Source, instruction, marked, new_boundary
from core.domain.skill import DESCRIPTION_LIMIT, SOURCES, Offered, SkillRow
from core.domain.text import Text
from core.domain.visible import visible
from core.engine.profiles import Profile, profile, told
from core.engine.skills import Skills
from core.engine.trust import Obeyed, obeyed
from core.store.rule_book import RuleBook
from core.tools.catalogue import names
from core.tools.recall import RECALL
from core.tools.skill import USE_SKILL
from core.workspace.broker import Broker

GUIDES = ("AGENTS.md", "CLAUDE.md")
CAP = 32_000  # characters of one file
SKILLS_CAP = 8_000  # characters of the list of skills
SKILL_LINE = DESCRIPTION_LIMIT
Offers = Sequence[tuple[Offered, SkillRow]]


@dataclass(frozen=True, slots=True)
class Found:
    """A file of the folder that speaks to agents, and what it says."""

    guide: Guide
    text: str = ""


async def briefed(
    began: RunStarted, folder: Path, home: Path, book: RuleBook, *, safe: bool = False,
    absent: Callable[[], Collection[str]] = tuple, skills: Skills | None = None,
    more: Callable[[], Collection[str]] = tuple,
) -> RunStarted:  # fmt: skip
    """The start of a run with what its model is told. `safe`: the folder has no say in it, whether trusted or not.

    `absent` are tools that nothing is set for, `more` are those of tool servers.
    """
    obeys = None if safe else obeyed(book.now(), folder, began.mode)
    offered = await skills.offer(folder, began.mode, safe=safe) if skills else ()
    return await asyncio.to_thread(_brief, began, folder, home, obeys, absent(), offered, () if safe else more())


def today() -> date:
    """Where the person is."""
    return datetime.now().astimezone().date()


def _brief(
    began: RunStarted,
    folder: Path,
    home: Path,
    obeys: Obeyed | None,
    absent: Collection[str],
    offered: Offers,
    more: Collection[str],
) -> RunStarted:
    agent = profile(home, began.agent)
    found = guides(folder, obeys) if obeys else []
    boundary = began.boundary or new_boundary()
    without = {*absent, *(() if offered else (USE_SKILL,))}
    there = [name for name in (*names(), *more) if name not in without]
    tools = tuple(name for name in there if agent.tools is None or name in agent.tools)
    if began.role or began.review:  # its tools are those it was given
        tools = tuple(name for name in tools if name in began.tools)
    tools = tools or (RECALL,)  # for none at all would mean every one
    offered = [one for one in offered if one[0].name not in began.without] if USE_SKILL in tools else ()
    if began.review:
        found = []
        text = "\n\n".join((_review(home), instruction(boundary), told_of_skills(offered)))
    else:
        text = system_text(agent, folder, today(), found, boundary, told_of_skills(offered))
    if began.role:
        text += "\n\n" + _template("helper", name=began.role)
    if began.schema.head:
        text += "\n\n" + _template("shape", schema=began.schema.head)
    guided, may_use = tuple(one.guide for one in found), tuple(one for one, _ in offered)
    return replace(began, system=Text(text), tools=tools, guides=guided, boundary=boundary, skills=may_use)


def _review(home: Path) -> str:
    """What a review is asked for: in the person's own words, where they wrote some."""
    own = home / "prompts" / "review.md"
    try:
        return own.read_text("utf-8").strip() or _template("review")
    except FileNotFoundError:
        return _template("review")
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"{own} cannot be read.", f"{error}.", "Correct it, or move it away.") from error


def told_of_skills(offered: Offers) -> str:
    """Names and descriptions, within a budget: descriptions become shorter first, then only names are left."""
    shown = [row for _, row in offered if not row.by_person_only]
    if not shown:
        return ""
    shown.sort(key=lambda row: (not row.pinned, SOURCES.index(row.source), -row.uses, row.name))
    for most in (SKILL_LINE, SKILL_LINE // 3, 0):
        lines = [f"- {row.name}" + (f": {_one_line(row.description, most)}" if most else "") for row in shown]
        if sum(map(len, lines)) <= SKILLS_CAP:
            break
    kept = list(lines)
    while sum(map(len, kept)) > SKILLS_CAP:
        kept.pop()
    left = f"\nand {len(lines) - len(kept)} more" if len(kept) < len(lines) else ""
    return _template("skills", list="\n".join(kept) + left)


def _one_line(text: str, most: int) -> str:
    words = " ".join(visible(text).split())
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def guides(folder: Path, obeys: Obeyed) -> list[Found]:
    """What the folder says of itself; one that says the same as another is read once, one that is not obeyed never."""
    found: list[Found] = []
    for name in GUIDES:
        try:
            with Broker(folder) as broker:
                if broker.look(name) is None:
                    continue
                contents = broker.read(name, keys=False)
        except Problem as problem:
            found.append(Found(Guide(name, trouble=str(problem))))
            continue
        except OSError as error:
            found.append(Found(Guide(name, trouble=f"It cannot be read: {error.strerror}.")))
            continue
        if not obeys(name, contents):
            found.append(Found(Guide(name, len(contents), trouble=obeys.why())))
            continue
        body = contents.decode("utf-8", "replace").strip()
        if body and all(body[:CAP] != other.text for other in found):
            found.append(Found(Guide(name, len(body), min(len(body), CAP)), body[:CAP]))
    return found


def system_text(agent: Profile, folder: Path, day: date, found: list[Found], boundary: str, skills: str = "") -> str:
    """In the order of what changes least: agent, manners, folder, and the folder's own words last."""
    role = f" {agent.role.strip()}" if agent.role.strip() else ""
    parts = [
        _template("agent", name=agent.name, role=role),
        told(agent),
        _template("manners"),
        skills,
        _template("folder", folder=str(folder), today=f"{day:%A}, {day.isoformat()}"),
        instruction(boundary),
    ]
    if any(one.text for one in found):
        parts.append(_template("guides"))
    parts += [_words(one, boundary) for one in found if one.text]
    return "\n\n".join(part for part in parts if part)


def _words(found: Found, boundary: str) -> str:
    cut = f"\n[The first {CAP:,} characters. Read the file for the rest.]" if found.guide.size > CAP else ""
    return marked(found.text, Source("folder", found.guide.name), boundary) + cut


def _template(name: str, /, **values: str) -> str:
    text = (resources.files("resources") / "prompts" / f"{name}.md").read_text("utf-8")
    return Template(text).substitute(values).strip()
