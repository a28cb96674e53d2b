"""The `manage_skill` tool: validates a skill change by the agent and records it as a proposal."""

from core.domain.events import CallStarted, ToolCall, ToolReturned
from core.domain.problems import Problem
from core.domain.proposal import Proposal
from core.domain.redact import Redactor
from core.domain.skill import SKILL_FILE, Skill, SkillRow, is_valid_name
from core.domain.text import Text
from core.engine.run.run_context import RunContext
from core.engine.services.skills import SkillService
from core.skills.library import LIBRARY_PREFIX
from core.skills.skill_archive import check_file_name
from core.skills.skill_md import error_summary, format_skill, parse_skill
from core.store.proposal_store import ProposalStore
from core.tools.skill_tools import MANAGE_SKILL, USE_SKILL, ManageSkillArguments, manage_skill_text

MAX_OPEN_PROPOSALS = 5
FILE_FOLDERS = ("references/", "scripts/", "assets/")
PROPOSED_MESSAGE = (
    "[Proposed as {id}. Nothing has changed yet: the user will accept or reject it. Continue with the task.]"
)


async def manage_skill(run: RunContext, call: ToolCall, asked: ManageSkillArguments) -> None:
    """Answer a `manage_skill` call. The proposal is recorded before the result of the call."""
    try:
        if run.skills is None or run.proposals is None:
            raise Problem("Skills cannot be changed in this run.", "", "")
        made = await _propose(run, run.skills, run.proposals, asked)
        output, failed = PROPOSED_MESSAGE.format(id=made.id), False
    except Problem as problem:
        output, failed = str(problem), True
    await run.record(
        CallStarted(call.id, MANAGE_SKILL, "proposal", manage_skill_text(asked)),
        ToolReturned(call.id, Text(output), failed),
    )


async def _propose(
    run: RunContext, skills: SkillService, proposals: ProposalStore, asked: ManageSkillArguments
) -> Proposal:
    waiting = proposals.find(state="pending", session=run.session)
    row = await _find_skill(run, skills, asked.name)
    mine = [one for one in waiting if one.target_kind == "skill" and one.target == _target(asked, row)]
    wanted = _build_proposal(
        run, skills, asked, row, next((one for one in mine if one.path == (asked.path or SKILL_FILE)), None)
    )
    replaced = [one for one in mine if one.path == wanted.path and one.text != wanted.text]
    if len(waiting) - len(replaced) >= MAX_OPEN_PROPOSALS:
        raise Problem(
            f"This session already has {MAX_OPEN_PROPOSALS} open proposals.",
            "The user has to decide on them first.",
            "",
        )
    made = await proposals.create(wanted)
    for one in replaced:  # The new proposal includes the changes of the earlier one.
        await proposals.resolve(one.id, "rejected", by="replaced")
    return made


async def _find_skill(run: RunContext, skills: SkillService, name: str) -> SkillRow | None:
    """Return the skill with this name: the one offered to this run, else the one in the library, else None."""
    there = {each.name: each.key for each in run.conversation.start.skills} if run.conversation.start else {}
    key = there.get(name, f"{LIBRARY_PREFIX}{name}")
    rows = await skills.list(run.tool_context.folder)
    return next((row for row in rows if row.key == key), None)


def _target(asked: ManageSkillArguments, row: SkillRow | None) -> str:
    return row.key if row and row.source != "builtin" else f"{LIBRARY_PREFIX}{asked.name}"


def _build_proposal(
    run: RunContext, skills: SkillService, asked: ManageSkillArguments, row: SkillRow | None, open_one: Proposal | None
) -> Proposal:
    _refuse_secrets(f"{asked.description}\n{asked.text}\n{asked.new_string}")
    path = asked.path if asked.action in ("patch", "add_file") and asked.path else SKILL_FILE
    if path != SKILL_FILE:
        _check_path(path)
    text, base = "", 0
    if asked.action == "create":
        text = _new_skill_text(asked, row)
    elif open_one and open_one.action == "create" and asked.action == "patch":
        text, base = _patched(open_one.text, asked), 0
    elif row is None:
        raise Problem(f"There is no skill {asked.name!r}.", "", "Create it with action create.")
    else:
        _refuse_guarded(run, asked, row)
        base = skills.library.latest_version(row.key)
        if asked.action == "patch":
            there = open_one.text if open_one else skills.library.body(row.key, path).decode("utf-8", "replace")
            text = _patched(there, asked)
        elif asked.action == "add_file":
            text = asked.text
    if path == SKILL_FILE and asked.action != "archive":
        _check_valid(text, asked.name, row)
    what = {"create": "create", "patch": "patch", "add_file": "write_file", "archive": "archive"}[asked.action]
    what = "create" if open_one and open_one.action == "create" and path == SKILL_FILE else what
    start = run.conversation.start
    review = start.reviewed_session if start else ""
    session = run.reader.session(review or run.session)
    return Proposal(
        "",
        "skill",
        what,  # type: ignore[arg-type]
        _target(asked, row),
        text,
        asked.reason,
        base,
        path,
        "",
        review or run.session,
        (session.steps,) if session else (),
        tuple(sorted(run.conversation.permissions.untrusted)),
        "review" if review else "agent",
    )


def _new_skill_text(asked: ManageSkillArguments, row: SkillRow | None) -> str:
    if row is not None:
        do = f"Read it with {USE_SKILL}, then change it with action patch, or choose another name."
        raise Problem(f"The skill {asked.name!r} already exists.", "It was not overwritten.", do)
    if not is_valid_name(asked.name):
        rule = "Use lowercase letters a to z, digits and single hyphens between them, at most 64 characters."
        raise Problem(f"{asked.name!r} is not a valid skill name.", rule, "Choose another name.")
    if asked.text.lstrip().startswith("---"):
        why = "The front matter is generated from name and description."
        raise Problem("The text begins with front matter.", why, "Leave it out.")
    return format_skill(Skill(asked.name, " ".join(asked.description.split()), f"\n{asked.text.strip()}\n"))


def _refuse_guarded(run: RunContext, asked: ManageSkillArguments, row: SkillRow) -> None:
    """Raise Problem for a pinned skill, for one that the run has not read, or to archive one outside the library."""
    if row.pinned:
        raise Problem(
            f"The skill {asked.name!r} is pinned.",
            "Only the user changes it.",
            "Tell the user what you would change.",
        )
    if asked.action == "archive" and row.source != "library":
        raise Problem(f"The skill {asked.name!r} cannot be archived.", f"It is a {row.source} skill.", "Tell the user.")
    if not any(fact.key == row.key for fact in run.conversation.skills_used.values()):
        raise Problem(f"You have not read the skill {asked.name!r}.", "", f"Read it with {USE_SKILL} first.")


def _patched(there: str, asked: ManageSkillArguments) -> str:
    found = there.count(asked.old_string)
    if found != 1:
        what = "The text in old_string was not found." if not found else f"The text in old_string occurs {found} times."
        raise Problem(what, "It must match exactly once.", "Copy it exactly, with more lines around it.")
    return there.replace(asked.old_string, asked.new_string)


def _check_valid(text: str, name: str, row: SkillRow | None) -> None:
    reading = parse_skill(text, folder=row.key.rpartition("/")[2] if row else name)
    if not reading.valid and not (reading.skill and row and row.errors):
        raise Problem("The skill would be invalid.", error_summary(reading.findings), "Fix it and propose it again.")


def _check_path(path: str) -> None:
    check_file_name(path)
    if not path.startswith(FILE_FOLDERS):
        raise Problem(f"Skill files cannot be stored at {path!r}.", "", f"Put it under {', '.join(FILE_FOLDERS)}.")


def _refuse_secrets(text: str) -> None:
    if Redactor().redact(text) != text:
        raise Problem("The text contains an API key or a password.", "Skills are not secret.", "Leave it out.")
