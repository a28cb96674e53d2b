"""The `run` tool: run a shell command in the sandbox and report how it changed the files."""

import asyncio
import json
import posixpath
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

from annotated_types import Gt, Le

from core.domain.command_line import ReadLine, program_name, read_line, split_loosely
from core.domain.events import ToolCall
from core.domain.irreversible_commands import irreversible_reason, possibly_irreversible_reason
from core.domain.known_commands import only_reads
from core.domain.problems import Problem
from core.domain.visible import visible_name
from core.tools.background import BackgroundCommand, CommandEnd
from core.tools.command_turn import CommandTurn, begin_turn
from core.tools.parameter_description import ParameterDescription
from core.tools.recover_commands import record_command, recover_commands
from core.tools.revert_unapproved import CommandChanges, TrustedFilesGuard, scan_and_revert
from core.tools.tool import Tool, ToolResult
from core.tools.tool_context import ToolContext
from core.workspace.file_change import UnrecordedChanges
from core.workspace.folder_scan import FolderScan, SensitivePaths
from core.workspace.launcher import CommandLimits, CommandRequest, SandboxPermissions
from core.workspace.output_buffer import OutputBuffer
from core.workspace.paths import is_in_any
from core.workspace.running_command import FinishedCommand
from core.workspace.sandbox import Sandbox
from core.workspace.threads import await_to_completion, run_to_completion

DEFAULT_TIMEOUT_S = 120.0
DAY_S = 86_400.0
REVERTED = "reverted, because other programs trust it and the user did not approve it: {}; use write, which asks"
UNSETTLED = "cannot be checked or reverted, so that every further call needs approval: {}; tell the user"
RESTORED = "deleted, overwrote or hid history of a repository, which was restored; tell the user, who can delete it: {}"
UNKEPT = "there is too much history to keep everything, so a command could delete history of these repositories: {}"
UNCHECKED = (
    "the history of the repositories could not be checked ({}), so every further call needs approval; tell the user"
)
RECOVERED = "an earlier command was interrupted; its unapproved changes to these files were reverted: {}"
LINKED = "hard links to files outside the folder that could not be copied, so a command can change these: {}"
READ_ONLY = "this command needed no approval because it should only read, so the folder was read-only for it"
# Subcommands of git that can delete history.
HISTORY_VERBS = frozenset(
    {"gc", "prune", "maintenance", "reflog", "update-ref", "symbolic-ref", "branch", "tag", "stash", "notes"}
    | {"replace", "filter-branch", "filter-repo", "fast-import", "submodule", "worktree"}
)
# The first two words of commands that switch or create branches.
BRANCHING = frozenset({("git", "checkout"), ("git", "switch"), ("git", "branch")})
RESCAN_S = 0.1  # seconds between two scans before a command
MAX_SCANS = 10  # before a command; if background commands still change trusted files then, it is not run
MAX_NAMED_PATHS = 20  # paths of each kind, such as reverted ones, that a result names


@dataclass(frozen=True, slots=True)
class RunArguments:
    command: Annotated[str, ParameterDescription("The command.")]
    timeout_s: Annotated[
        Annotated[float, Gt(0), Le(DAY_S)] | None,
        ParameterDescription("Seconds until it is stopped; default 120, in the background none."),
    ] = None
    background: Annotated[bool, ParameterDescription("Return at once, with an id for check.")] = False

    def __post_init__(self) -> None:
        if self.timeout_s is None:  # Set the default here, so that the permission request shows it.
            object.__setattr__(self, "timeout_s", DAY_S if self.background else DEFAULT_TIMEOUT_S)


class _ScanBefore(NamedTuple):
    """The result of a scan before a command, and notes for the model about what it found and restored."""

    sensitive: SensitivePaths
    notes: list[str]


async def run(parameters: RunArguments, context: ToolContext) -> ToolResult:
    """Execute a `run` call. File changes are found by comparing the folder with `context.scan` of the last command."""
    if "\0" in parameters.command:
        raise Problem("The command is not valid.", "It contains a NUL byte.", "Remove it.")
    sandbox = await context.proven_sandbox()
    context.broker.check_identity()  # The sandbox opens the folder by its path, which could lead to another one now.
    if parameters.background:
        context.commands.check_capacity()
    if context.grant.protected_paths:
        await context.commands.refuse_while_running()
    turn = await begin_turn(context.folder, parameters.command)
    try:
        result = await _run(sandbox, parameters, context, turn)
    except BaseException:
        turn.end()
        raise
    if not parameters.background:
        turn.end()
    return result


async def _run(sandbox: Sandbox, parameters: RunArguments, context: ToolContext, turn: CommandTurn) -> ToolResult:
    if context.grant.protected_paths:
        await turn.run_alone()
    before = await _scan_before(context)
    request = CommandRequest(
        command=parameters.command,
        folder=context.folder,
        limits=CommandLimits(time_s=parameters.timeout_s or DEFAULT_TIMEOUT_S),
        permit=await _permissions(context),
        protected=before.sensitive.protected,
        hidden=before.sensitive.hidden,
        argv=context.grant.argv,
        loses_history=_loses_history(parameters.command, context),
        sets_upstream=_pushes(parameters.command, context) or (_only_branches(parameters.command) and turn.try_alone()),
    )
    if request.loses_history:
        await _drop_history(context, turn, background=parameters.background)
    if parameters.background:
        return await _run_in_background(sandbox, request, context, turn)
    return await _run_in_foreground(sandbox, request, context, before.notes)


async def _run_in_foreground(
    sandbox: Sandbox, request: CommandRequest, context: ToolContext, earlier_notes: Sequence[str]
) -> ToolResult:
    """Run a command to its end, and return its result with all notes for the model."""
    record = await run_to_completion(record_command, context, context.scan)
    guard = TrustedFilesGuard(context, record=record)
    printed = OutputBuffer()
    listener = context.output_listener()

    def on_output(chunk: bytes) -> None:
        printed.add(chunk)
        if listener:
            listener(chunk)

    try:
        finished = await sandbox.run(request, on_output, guard.check)
    except asyncio.CancelledError:
        await _record_stopped(context, guard, printed)
        raise
    except BaseException:  # it was not started
        guard.close()
        raise
    await guard.stop()
    history_notes = await run_to_completion(_history_notes, context)
    outcome = await run_to_completion(scan_and_revert, context)
    guard.close()
    reverted = tuple(sorted({*guard.reverted, *outcome.reverted}))
    refused = context.network_access.take_refused()
    notes = [
        *result_notes(finished, outcome.missed, refused, read_only=request.permit.read_only),
        *_revert_notes(reverted, outcome.unsettled),
        *earlier_notes,
        *history_notes,
    ]
    return ToolResult(
        output="".join([finished.output, *(f"\n[{note}]" for note in notes)]),
        failed=bool(finished.killed_because) or finished.exit_code != 0,
        exit_code=finished.exit_code,
        changes=outcome.changes,
        unrestorable=summarized_paths(outcome.missed.unrecorded),
        changed_history=await run_to_completion(_changed_history, context, context.scan),
    )


async def _record_stopped(context: ToolContext, guard: TrustedFilesGuard, printed: OutputBuffer) -> None:
    """Revert and record the changes of a foreground command whose call was stopped. `printed` is its output."""
    await await_to_completion(guard.stop())
    outcome = await run_to_completion(scan_and_revert, context)
    await run_to_completion(_history_notes, context)
    guard.close()
    ended = await run_to_completion(_command_end, context, context.scan, outcome, printed.text())
    await context.commands.record_stopped(ended)


async def _scan_before(context: ToolContext) -> _ScanBefore:
    """Scan the folder before a command.

    The scan is the original state to which trusted files are reverted later. It must not contain changes by background
    commands, so it is repeated until they change no trusted file during a scan. Otherwise raise Problem.
    """
    recovered = await run_to_completion(recover_commands, context)
    notes = list(recovered.notes)
    if recovered.reverted:
        notes.append(RECOVERED.format(_names(recovered.reverted)))
    commands_run = context.commands.is_any_running()
    if not commands_run:
        await run_to_completion(context.shared.keep)
    for _ in range(MAX_SCANS):
        reverts = context.commands.count_reverts()
        scan = await run_to_completion(_scan_once, context, commands_run)
        notes += scan.notes
        if not commands_run:
            break
        await run_to_completion(context.commands.revert_changes)
        if context.commands.count_reverts() == reverts:
            break
        await context.commands.wait_for_end(RESCAN_S)  # the guard kills a command that keeps doing this
    else:
        cause = "A command in the background keeps changing files that other programs trust."
        raise Problem("The command was not run.", cause, "End that command first.")
    return _ScanBefore(scan.sensitive, list(dict.fromkeys(notes)))


def _scan_once(context: ToolContext, commands_run: bool) -> _ScanBefore:
    with context.scan.lock:
        sensitive = context.scan.scan_before(commands_run=commands_run, writes=not context.grant.read_only)
    notes = [LINKED.format(_names(sensitive.linked))] if sensitive.linked else []
    context.committed.begin(sensitive.git)
    if not context.grant.read_only:
        with context.scan.lock:
            if commands_run:
                notes += _restore_history(context)
            else:
                context.history_changes.keep(sensitive.git)
            missing = context.history.keep(sensitive.git)
        if missing.incomplete:
            notes.append(UNKEPT.format(_names(missing.incomplete)))
        _require_approval(context, missing.left_out)
    context.unsettled.add(sensitive.closed)
    return _ScanBefore(sensitive, notes)


def _require_approval(context: ToolContext, left_out: tuple[str, ...]) -> None:
    """Raise Problem if git history in the folders `left_out` could not be kept and the call is not approved."""
    if left_out and not context.grant.unsandboxed:
        context.unsettled.add(left_out)
        cause = f"There are too many repositories to keep the history of these: {_names(left_out)}."
        raise Problem("The command was not run.", cause, "Call again: the user is asked to approve it.")


async def _run_in_background(
    sandbox: Sandbox, request: CommandRequest, context: ToolContext, turn: CommandTurn
) -> ToolResult:
    """Start a command in the background, and return at once with the ID for the `check` tool."""
    call, listener = context.call, context.output_listener()
    forked_context = replace(context, scan=context.scan.fork())
    loop = asyncio.get_running_loop()

    def report_reverts(reverted: tuple[str, ...]) -> None:
        loop.call_soon_threadsafe(on_output, f"\n[{REVERTED.format(_names(reverted))}]\n".encode())

    record = await run_to_completion(record_command, context, forked_context.scan)
    guard = TrustedFilesGuard(forked_context, report_reverts, record)

    def scan_changes() -> CommandEnd:
        try:
            outcome = scan_and_revert(forked_context, guard)
            guard.close()
            reverted = tuple(sorted({*guard.reverted, *outcome.reverted}))
            notes = [*_revert_notes(reverted, outcome.unsettled), *_history_notes(context)]
        finally:
            turn.end()
        return _command_end(context, forked_context.scan, outcome, "".join(f"\n[{note}]" for note in notes))

    background = BackgroundCommand(request.command, scan_changes, guard)

    def on_output(chunk: bytes) -> None:
        background.append_output(chunk)
        if listener:
            listener(chunk)

    try:
        background.running = await sandbox.start(request, on_output, guard.check)
    except BaseException:
        guard.close()
        raise
    context.commands.follow(call, background)
    return ToolResult(f"Running in the background with id {call}. Use check to follow it; it ends with this run.")


def _command_end(context: ToolContext, scan: FolderScan, outcome: CommandChanges, output: str) -> CommandEnd:
    return CommandEnd(
        context.call,
        outcome.changes,
        unrestorable=summarized_paths(outcome.missed.unrecorded),
        changed_history=_changed_history(context, scan),
        output=output,
    )


def _changed_history(context: ToolContext, scan: FolderScan) -> tuple[str, ...]:
    """Return the git folders whose references have changed since the last call. `scan` was made after the command."""
    if context.grant.read_only:
        return ()
    with context.scan.lock:
        return context.history_changes.take(scan.git_places)


async def _permissions(context: ToolContext) -> SandboxPermissions:
    """Return the sandbox permissions for this call. A read-only command gets no network access."""
    grant = context.grant
    return replace(
        SandboxPermissions(read_only=True) if grant.read_only else await context.network_access.permission(),
        secrets=grant.secrets,
        protected_paths=grant.protected_paths,
        unsandboxed=grant.unsandboxed,
    )


def result_notes(
    finished: FinishedCommand, missed: UnrecordedChanges, refused: tuple[str, ...] = (), *, read_only: bool = False
) -> list[str]:
    """Return notes for the model about the command's effects, such as changes that cannot be reverted."""
    notes = [finished.killed_because] if finished.killed_because else []
    if missed.protected:
        notes.append(f"created or changed protected files: {_names(missed.protected)}")
    if missed.privileged:
        notes.append(f"set-user-ID and set-group-ID bits were removed: {_names(missed.privileged)}")
    if missed.unrecorded:
        notes.append(f"also changed, but not recorded, so it cannot be reverted: {_names(missed.unrecorded)}")
    if refused:
        notes.append(f"tried to reach hosts that are not allowed in this run: {_names(refused)}")
    if finished.exit_code and any(phrase in finished.output for phrase in ("Read-only file system", "resource busy")):
        notes.append(READ_ONLY if read_only else "protected files and everything outside the folder are read-only here")
    return notes


def _loses_history(command: str, context: ToolContext) -> bool:
    """Return whether the user has approved an irreversible command that may delete git history.

    The command must name a repository or `.git`, or run git with one of HISTORY_VERBS. Words that are only text, as in
    `echo git gc`, do not count.
    """
    if not context.grant.irreversible:
        return False
    repositories = {posixpath.dirname(place) for place in context.scan.git_places} - {""}
    line = read_line(command)
    commands: Sequence[Sequence[str]] = line.parts if isinstance(line, ReadLine) else split_loosely(command)
    reason_of = irreversible_reason if isinstance(line, ReadLine) else possibly_irreversible_reason
    return any(reason_of(words) and _concerns_history(words, repositories) for words in commands)


def _concerns_history(words: Sequence[str], repositories: Collection[str]) -> bool:
    """Return whether a command names a repository or `.git`, or runs git with one of HISTORY_VERBS."""
    paths = {posixpath.normpath(word) for word in words}
    names = {posixpath.basename(path) for path in paths}
    runs_history_verb = "git" in names and not HISTORY_VERBS.isdisjoint(words)
    return ".git" in names or runs_history_verb or any(is_in_any(place, paths) for place in repositories)


def _pushes(command: str, context: ToolContext) -> bool:
    """Return whether the user has approved a line that pushes, for which git may write where its branch was pushed."""
    line = read_line(command)
    commands: Sequence[Sequence[str]] = line.parts if isinstance(line, ReadLine) else split_loosely(command)
    pushes = any(program_name(words[0]) == "git" and "push" in words for words in commands)
    return context.grant.irreversible and pushes


def _only_branches(command: str) -> bool:
    """Return whether a line only creates or switches branches, as `git checkout -b x origin/x`, and otherwise reads."""
    line = read_line(command)
    commands = line.parts if isinstance(line, ReadLine) else ()
    others = [words for words in commands if words[:2] not in BRANCHING]
    return len(others) < len(commands) and all(words[0] == "cd" or only_reads(words) for words in others)


async def _drop_history(context: ToolContext, turn: CommandTurn, *, background: bool) -> None:
    """Drop the kept git history, so that history which an approved command deletes is not restored.

    Raise Problem if other commands run or the command is to run in the `background`: history deleted by another command
    could then not be restored either.
    """
    if background:
        cause = "It deletes history, and other commands could delete more while it runs."
        raise Problem("The command was not run.", cause, "Call again without background.")
    await context.commands.refuse_while_running()
    await turn.run_alone()
    await run_to_completion(context.history.drop)


def _history_notes(context: ToolContext) -> list[str]:
    """Restore git history that a command deleted without approval. Return notes about it for the model."""
    with context.scan.lock:  # A background command may end at the same time.
        return _restore_history(context)


def _restore_history(context: ToolContext) -> list[str]:
    try:
        restored = context.history.restore()
    except Exception as error:  # A command may have corrupted the repository. Still revert the trusted files.
        context.unsettled.add(f"{place}/objects" for place in context.scan.git_places)
        return [UNCHECKED.format(f"{type(error).__name__}: {error}")]
    return [RESTORED.format(", ".join(restored))] if restored else []


def _revert_notes(reverted: tuple[str, ...], unsettled: tuple[str, ...]) -> list[str]:
    notes = ((REVERTED, reverted), (UNSETTLED, unsettled))
    return [text.format(_names(paths)) for text, paths in notes if paths]


def display_paths(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the display names of the first MAX_NAMED_PATHS paths, then "and N more" if there are more."""
    more = (f"and {len(paths) - MAX_NAMED_PATHS:,} more",) if len(paths) > MAX_NAMED_PATHS else ()
    return (*(visible_name(path) for path in paths[:MAX_NAMED_PATHS]), *more)


def summarized_paths(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the display names of the paths, or of their top-level folders (with a slash) if there are many paths."""
    if len(paths) <= MAX_NAMED_PATHS:
        return display_paths(paths)
    parts = (path.partition("/") for path in paths)
    top_level = dict.fromkeys(name + slash for name, slash, _ in parts)
    return display_paths(tuple(top_level))


def _names(paths: tuple[str, ...]) -> str:
    return ", ".join(display_paths(paths))


RUN = Tool(
    name="run",
    description="Run a shell command in the folder, without network. Returns its output and exit code.",
    parameters=RunArguments,
    kind="command",
    access="execute",
    describe=lambda parameters: str(parameters.command),
    run=run,
)


def runs_command(call: ToolCall, command: str) -> bool:
    """Return whether a call is a `run` call whose command contains this command."""
    command_as_json = json.dumps(command, ensure_ascii=False)[1:-1]
    return call.tool == RUN.name and command_as_json in call.arguments.head
