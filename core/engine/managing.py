"""What an agent wants to change about skills becomes a proposal: checked as a save would be, and nothing else."""

from core.domain.events import Call, CallStarted, ToolReturned
from core.domain.problems import Problem
from core.domain.proposal import Proposal
from core.domain.redact import Redactor
from core.domain.skill import MAIN, Skill, SkillRow, valid_name
from core.domain.text import Text
from core.engine.skills import Skills
from core.engine.work import Work
from core.skills.format import read, summary, write
from core.skills.library import OWN
from core.skills.packed import check_name
from core.store.proposals import Proposals
from core.tools.skill import MANAGE_SKILL, USE_SKILL, ManageSkill, managed

OPEN_AT_ONCE = 5
PLACES = ("references/", "scripts/", "assets/")
DONE = "[Proposed as {id}. Nothing has changed: the person keeps it or rejects it. Go on with the task.]"


async def manage_skill(run: Work, call: Call, asked: ManageSkill) -> None:
    """The call gets its result; the proposal stands in the journal before it."""
    try:
        if run.skills is None or run.proposals is None:
            raise Problem("Nothing can be proposed here.", "", "")
        made = await _propose(run, run.skills, run.proposals, asked)
        output, failed = DONE.format(id=made.id), False
    except Problem as problem:
        output, failed = str(problem), True
    await run.record(
        CallStarted(call.id, MANAGE_SKILL, "proposal", managed(asked)), ToolReturned(call.id, Text(output), failed)
    )


async def _propose(run: Work, skills: Skills, proposals: Proposals, asked: ManageSkill) -> Proposal:
    waiting = proposals.find(state="open", session=run.session)
    row = await _row(run, skills, asked.name)
    mine = [one for one in waiting if one.of == "skill" and one.target == _target(asked, row)]
    wanted = _wanted(run, skills, asked, row, next((one for one in mine if one.path == (asked.path or MAIN)), None))
    replaced = [one for one in mine if one.path == wanted.path and one.text != wanted.text]
    if len(waiting) - len(replaced) >= OPEN_AT_ONCE:
        raise Problem(
            f"{OPEN_AT_ONCE} proposals of this session wait already.", "The person decides on them first.", ""
        )
    made = await proposals.make(wanted)
    for one in replaced:  # the new one was made on top of it
        await proposals.settle(one.id, "rejected", by="replaced")
    return made


async def _row(run: Work, skills: Skills, name: str) -> SkillRow | None:
    """The skill that is meant: one this run was told of, else one of the library."""
    there = {each.name: each.key for each in run.talk.start.skills} if run.talk.start else {}
    key = there.get(name, f"{OWN}{name}")
    rows = await skills.list(run.place.folder)
    return next((row for row in rows if row.key == key), None)


def _target(asked: ManageSkill, row: SkillRow | None) -> str:
    return row.key if row and row.source != "builtin" else f"{OWN}{asked.name}"


def _wanted(run: Work, skills: Skills, asked: ManageSkill, row: SkillRow | None, open_one: Proposal | None) -> Proposal:
    _refuse_secrets(f"{asked.description}\n{asked.text}\n{asked.new}")
    path = asked.path if asked.action in ("patch", "add_file") and asked.path else MAIN
    if path != MAIN:
        _check_path(path)
    text, base = "", 0
    if asked.action == "create":
        text = _new(asked, row)
    elif open_one and open_one.what == "create" and asked.action == "patch":
        text, base = _patched(open_one.text, asked), 0
    elif row is None:
        raise Problem(f"There is no skill {asked.name!r}.", "", "Make it with action create.")
    else:
        _refuse_guarded(run, asked, row)
        base = skills.library.head(row.key)
        if asked.action == "patch":
            there = open_one.text if open_one else skills.library.body(row.key, path).decode("utf-8", "replace")
            text = _patched(there, asked)
        elif asked.action == "add_file":
            text = asked.text
    if path == MAIN and asked.action != "archive":
        _check(text, asked.name, row)
    what = {"create": "create", "patch": "patch", "add_file": "file", "archive": "archive"}[asked.action]
    what = "create" if open_one and open_one.what == "create" and path == MAIN else what
    start = run.talk.start
    review = start.review if start else ""
    session = run.reader.session(review or run.session)
    return Proposal(
        "", "skill", what, _target(asked, row), text, asked.reason, base, path, "", review or run.session,  # type: ignore[arg-type]
        (session.steps,) if session else (), tuple(sorted(run.talk.rights.taint)), "review" if review else "agent",
    )  # fmt: skip


def _new(asked: ManageSkill, row: SkillRow | None) -> str:
    if row is not None:
        do = f"Read it with {USE_SKILL}, then change it with action patch, or choose a name for other work."
        raise Problem(f"There is a skill {asked.name!r} already.", "It is not overwritten.", do)
    if not valid_name(asked.name):
        rule = "Small letters a to z, digits and single hyphens between them, at most 64."
        raise Problem(f"{asked.name!r} is no name for a skill.", rule, "Choose another.")
    if asked.text.lstrip().startswith("---"):
        raise Problem("The text begins with front matter.", "That is made of name and description.", "Leave it out.")
    return write(Skill(asked.name, " ".join(asked.description.split()), f"\n{asked.text.strip()}\n"))


def _refuse_guarded(run: Work, asked: ManageSkill, row: SkillRow) -> None:
    """What a person keeps for themselves, and what was not read before."""
    if row.pinned:
        raise Problem(
            f"The skill {asked.name!r} is pinned.", "Its owner changes it.", "Tell the person what you would."
        )
    if asked.action == "archive" and row.source != "library":
        raise Problem(
            f"The skill {asked.name!r} cannot be archived.", f"It is a {row.source} skill.", "Tell the person."
        )
    if not any(fact.key == row.key for fact in run.talk.used.values()):
        raise Problem(f"You have not read the skill {asked.name!r}.", "", f"Read it with {USE_SKILL} first.")


def _patched(there: str, asked: ManageSkill) -> str:
    found = there.count(asked.old)
    if found != 1:
        times = "does not stand there" if not found else f"stands there {found} times"
        raise Problem(
            f"The text {times}.", "", "Name words that stand there exactly once, with more lines around them."
        )
    return there.replace(asked.old, asked.new)


def _check(text: str, name: str, row: SkillRow | None) -> None:
    reading = read(text, folder=row.key.rpartition("/")[2] if row else name)
    if not reading.valid and not (reading.skill and row and row.errors):
        raise Problem("This would be no skill any more.", summary(reading.findings), "Mend it and propose it again.")


def _check_path(path: str) -> None:
    check_name(path)
    if not path.startswith(PLACES):
        raise Problem(f"{path!r} is no place for a file of a skill.", "", f"Put it under {', '.join(PLACES)}.")


def _refuse_secrets(text: str) -> None:
    if Redactor().text(text) != text:
        raise Problem("This holds a key or a password.", "Skills are read by everybody.", "Leave it out.")
