"""The `manage_skill` tool: validates a skill change by the agent and records it as a proposal."""

from typing import Final

from core.domain.events import CallStarted, ToolCall, ToolReturned
from core.domain.problems import Problem
from core.domain.proposal import Proposal, ProposalAction
from core.domain.redact import Redactor
from core.domain.skill import READ_ONLY_SOURCES, SKILL_FILE, Skill, SkillRow, is_valid_name
from core.domain.text import Text
from core.engine.run.run_context import RunContext
from core.engine.services.skills import SkillService
from core.skills.library import LIBRARY_PREFIX
from core.skills.skill_archive import check_file_name, check_no_file_is_folder
from core.skills.skill_md import error_summary, format_skill, parse_skill
from core.store.proposal_store import ProposalStore
from core.tools.skill_tools import MANAGE_SKILL, USE_SKILL, ManageSkillArguments, manage_skill_text

MAX_OPEN_PROPOSALS = 5
PROPOSAL_ACTIONS: Final[dict[str, ProposalAction]] = {
    "create": "create",
    "patch": "patch",
    "add_file": "write_file",
    "archive": "archive",
}
FILE_FOLDERS = ("references/", "scripts/", "assets/")
PROPOSED_MESSAGE = (
    "[Proposed as {id}. Nothing has changed yet: the user will accept or reject it. Continue with the task.]"
)


async def manage_skill(run: RunContext, call: ToolCall, arguments: ManageSkillArguments) -> None:
    """Answer a `manage_skill` call. The proposal is recorded before the result of the call."""
    try:
        if run.skills is None or run.proposals is None:
            raise Problem("Skills cannot be changed in this run.", "", "")
        proposal = await _propose(run, run.skills, run.proposals, arguments)
        result = ToolReturned(call.id, Text(PROPOSED_MESSAGE.format(id=proposal.id)))
    except Problem as problem:
        result = ToolReturned(call.id, Text(str(problem)), failed=True)
    await run.record(CallStarted(call.id, MANAGE_SKILL, "proposal", manage_skill_text(arguments)), result)


async def _propose(
    run: RunContext, skills: SkillService, proposals: ProposalStore, arguments: ManageSkillArguments
) -> Proposal:
    """Record the requested change as a proposal. It replaces the session's earlier proposals for the same file.

    Raise a Problem if the session has already proposed the same new skill or file with another text.
    """
    pending = proposals.find(state="pending", session=_proposing_session(run))
    row = await _find_skill(run, skills, arguments.name)
    file = ("skill", _target(arguments, row), _changed_file(arguments))
    same_file = [earlier for earlier in pending if (earlier.target_kind, earlier.target, earlier.path) == file]
    draft = _build_proposal(run, skills, arguments, row, same_file[0] if same_file else None)
    replaced = [earlier for earlier in same_file if earlier.text != draft.text]
    if replaced and arguments.action in ("create", "add_file"):
        _, _, path = file
        what = f"the file {path!r}" if arguments.action == "add_file" else f"a new skill {arguments.name!r}"
        fix = "Change it with action patch, which applies to the proposed text."
        raise Problem(f"This session has already proposed {what}.", "It was not replaced.", fix)
    if len(pending) - len(replaced) >= MAX_OPEN_PROPOSALS:
        raise Problem(
            f"This session already has {MAX_OPEN_PROPOSALS} open proposals.",
            "The user has to decide on them first.",
            "",
        )
    created = await proposals.create(draft)
    for earlier in replaced:  # The new proposal includes the changes of the earlier one.
        await proposals.resolve(earlier.id, "rejected", by="replaced")
    return created


def _proposing_session(run: RunContext) -> str:
    """Return the session that the proposals of a run belong to; for a review, the session that it reviews."""
    return (run.conversation.start.reviewed_session if run.conversation.start else "") or run.session


async def _find_skill(run: RunContext, skills: SkillService, name: str) -> SkillRow | None:
    """Return the skill with this name, or None. Prefer the skill offered to this run, then the one in the library."""
    offered_keys = {skill.name: skill.key for skill in run.conversation.start.skills} if run.conversation.start else {}
    key = offered_keys.get(name, f"{LIBRARY_PREFIX}{name}")
    rows = await skills.list(run.tool_context.folder)
    by_key = next((row for row in rows if row.key == key), None)
    return by_key or next((row for row in rows if row.name == name), None)


def _target(arguments: ManageSkillArguments, row: SkillRow | None) -> str:
    return row.key if row and row.source not in READ_ONLY_SOURCES else f"{LIBRARY_PREFIX}{arguments.name}"


def _changed_file(arguments: ManageSkillArguments) -> str:
    """Return the path, relative to the skill's folder, of the file that the call changes."""
    return arguments.path if arguments.action in ("patch", "add_file") and arguments.path else SKILL_FILE


def _build_proposal(
    run: RunContext,
    skills: SkillService,
    arguments: ManageSkillArguments,
    row: SkillRow | None,
    open_proposal: Proposal | None,
) -> Proposal:
    """Check the requested change and return a proposal for it. Raise Problem if the change is not possible.

    If the session already has an open proposal for the same file, a patch applies to the text that it proposes.
    """
    _refuse_secrets(f"{arguments.description}\n{arguments.text}\n{arguments.new_string}")
    path = _changed_file(arguments)
    if path != SKILL_FILE:
        _check_path(path)
    patches_new_skill = arguments.action == "patch" and open_proposal is not None and open_proposal.action == "create"
    action = "create" if patches_new_skill else PROPOSAL_ACTIONS[arguments.action]
    if row is None and action != "create":
        raise Problem(f"There is no skill {arguments.name!r}.", "", "Create it with action create.")
    base = 0
    if row is not None and action != "create":
        _refuse_guarded(run, arguments, row)
        base = skills.library.latest_version(row.key)
    text = _new_text(skills, arguments, row, open_proposal)
    if path == SKILL_FILE and action != "archive":
        _check_valid(text, arguments.name, row)
    reviewed = run.conversation.start.reviewed_session if run.conversation.start else ""
    return Proposal(
        id="",
        target_kind="skill",
        action=action,
        target=_target(arguments, row),
        text=text,
        reason=arguments.reason,
        base_version=base,
        path=path,
        session=_proposing_session(run),
        steps=_last_step(run, reviewed),
        untrusted_sources=tuple(sorted(run.conversation.permissions.untrusted)),
        author="review" if reviewed else "agent",
    )


def _new_text(
    skills: SkillService, arguments: ManageSkillArguments, row: SkillRow | None, open_proposal: Proposal | None
) -> str:
    """Return the text that the file will have; empty if the skill is archived."""
    match arguments.action:
        case "create":
            return _new_skill_text(arguments, row)
        case "add_file":
            _refuse_existing_file(skills, arguments, row)
            return arguments.text
        case "patch" if open_proposal is not None:
            return _patched(open_proposal.text, arguments)
        case "patch" if row is not None:
            body = skills.library.body(row.key, _changed_file(arguments))
            return _patched(body.decode("utf-8", "replace"), arguments)
        case _:
            return ""


def _refuse_existing_file(skills: SkillService, arguments: ManageSkillArguments, row: SkillRow | None) -> None:
    """Raise Problem if the new file exists, or if it cannot be next to the files that the skill has."""
    if row is None:
        return
    paths = {file.path for file in skills.library.open(row.key).files}
    if arguments.path in paths:
        fix = f"Read it with {USE_SKILL}, then change it with action patch."
        raise Problem(f"The skill has a file {arguments.path!r} already.", "It was not overwritten.", fix)
    check_no_file_is_folder({*paths, arguments.path})


def _last_step(run: RunContext, reviewed: str) -> tuple[int, ...]:
    """Return the number of the step that the proposal is based on, as a tuple; () if the session is unknown.

    In the review of a session, this is the session's last step. Otherwise it is the current call, which becomes the
    next step: its result is recorded after the proposal.
    """
    session = run.reader.session(reviewed or run.session)
    if session is None:
        return ()
    return (session.steps if reviewed else session.steps + 1,)


def _new_skill_text(arguments: ManageSkillArguments, row: SkillRow | None) -> str:
    if row is not None:
        fix = f"Read it with {USE_SKILL}, then change it with action patch, or choose another name."
        raise Problem(f"The skill {arguments.name!r} already exists.", "It was not overwritten.", fix)
    if not is_valid_name(arguments.name):
        rule = "Use lowercase letters a to z, digits and single hyphens between them, at most 64 characters."
        raise Problem(f"{arguments.name!r} is not a valid skill name.", rule, "Choose another name.")
    if arguments.text.lstrip().startswith("---"):
        why = "The front matter is generated from name and description."
        raise Problem("The text begins with front matter.", why, "Leave it out.")
    return format_skill(Skill(arguments.name, " ".join(arguments.description.split()), f"\n{arguments.text.strip()}\n"))


def _refuse_guarded(run: RunContext, arguments: ManageSkillArguments, row: SkillRow) -> None:
    """Raise Problem if the skill is pinned, was not read by the run, or is outside the library and to be archived."""
    if row.pinned:
        raise Problem(
            f"The skill {arguments.name!r} is pinned.",
            "Only the user changes it.",
            "Tell the user what you would change.",
        )
    if arguments.action == "archive" and row.source != "library":
        raise Problem(
            f"The skill {arguments.name!r} cannot be archived.", f"It is a {row.source} skill.", "Tell the user."
        )
    if not any(use.key == row.key for use in run.conversation.skills_used.values()):
        raise Problem(f"You have not read the skill {arguments.name!r}.", "", f"Read it with {USE_SKILL} first.")


def _patched(text: str, arguments: ManageSkillArguments) -> str:
    occurrences = text.count(arguments.old_string)
    if occurrences != 1:
        outcome = f"occurs {occurrences} times" if occurrences else "was not found"
        fix = "Copy it exactly, with more lines around it."
        raise Problem(f"The text in old_string {outcome}.", "It must match exactly once.", fix)
    return text.replace(arguments.old_string, arguments.new_string)


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
