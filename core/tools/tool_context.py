"""The context passed to the tools of a run: folder, file access, sandbox, network access and approvals."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from core.domain.permissions import SandboxLevel
from core.domain.problems import Problem
from core.tools.background import BackgroundCommands
from core.tools.network_access import NetworkAccess
from core.tools.shared_repository import SharedRepository
from core.tools.web_search import WebSearch
from core.workspace.broker import FileBroker
from core.workspace.committed_files import CommittedFiles
from core.workspace.folder_scan import FolderScan
from core.workspace.git_history import GitHistory
from core.workspace.history_changes import HistoryChanges
from core.workspace.sandbox import Sandbox, machine_sandbox
from core.workspace.threads import run_to_completion
from core.workspace.unsettled import UnsettledPaths

SANDBOX_PROOF_FILE = "sandbox.json"  # file in the data folder with the result of the sandbox test since the last boot

if TYPE_CHECKING:
    from core.mcp.elicitation import ElicitCallback
    from core.mcp.servers import McpServers
    from core.memory.run_memory import RunMemory

CallOutputListener = Callable[[str, bytes], None]  # receives the id of a call and the new output of its command


@dataclass(frozen=True, slots=True)
class CallGrant:
    """The permissions of one call, decided before it runs.

    Attributes:
        argv: the command as separate arguments; if set, no shell interprets it.
        protected_paths: protected paths that the user allowed it to change.
        secrets: the user allowed it to read files with secrets.
        unsandboxed: the user allowed it to run without a sandbox.
        irreversible: the user allowed it although the request showed that its effect cannot be undone.
        read_only: it was allowed because it only reads, so the sandbox keeps it from doing anything else.
    """

    argv: tuple[str, ...] = ()
    protected_paths: tuple[str, ...] = ()
    secrets: bool = False
    unsandboxed: bool = False
    irreversible: bool = False
    read_only: bool = False


NO_GRANT = CallGrant()


@dataclass(slots=True)
class LazySandbox:
    """The sandbox, chosen and tested at its first use. `recorded` is set once the run has recorded its level."""

    choose: Callable[[], Sandbox]
    recorded: bool = False
    chosen: Sandbox | None = None

    @property
    def sandbox(self) -> Sandbox:
        self.chosen = self.chosen or self.choose()
        return self.chosen


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What the tools of a run work with. `open_context` creates it; `call` and `grant` belong to a single call.

    Attributes:
        data: the data folder of Journeyman, which no tool may read.
        network_access: the hosts that the user allowed for the commands of this run, and their proxy.
        commands: the background commands.
        committed: finds files that are contained in the user's commits.
        history: the history of the repositories in the folder, as it was before the last command that could write.
        history_changes: finds the repositories whose references commands have changed.
        shared: the git folder outside the folder, if the folder is a linked worktree.
        unsettled: paths that commands have left in a state that can be neither checked nor reverted.
        memory: the memory of this run; None if it has none.
        on_output: receives the output of commands while they run.
        safe_mode: the user's hooks do not run.
        web: the search engine that the user has set up.
        servers: the user's MCP servers; None if none are used.
        ask: asks the user a question for this call.
    """

    folder: Path
    data: Path
    broker: FileBroker
    scan: FolderScan
    lazy_sandbox: LazySandbox
    network_access: NetworkAccess
    commands: BackgroundCommands
    committed: CommittedFiles
    history: GitHistory
    history_changes: HistoryChanges
    shared: SharedRepository
    unsettled: UnsettledPaths
    on_output: CallOutputListener | None = None
    memory: "RunMemory | None" = None
    call: str = ""
    grant: CallGrant = NO_GRANT
    safe_mode: bool = False
    web: WebSearch | None = None
    servers: "McpServers | None" = None
    ask: "ElicitCallback | None" = None

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox. Its first use tests it, which can take half a second; `proven_sandbox` does that in a thread."""
        return self.lazy_sandbox.sandbox

    @property
    def level(self) -> SandboxLevel:
        """How well the sandbox restricts commands, as its self-test determined."""
        return self.sandbox.level

    async def proven_sandbox(self) -> Sandbox:
        """Return the sandbox; test it in a thread at its first use, so that other runs are not blocked."""
        if chosen := self.lazy_sandbox.chosen:
            return chosen
        return await run_to_completion(lambda: self.lazy_sandbox.sandbox)

    def for_call(self, call: str, grant: CallGrant | None = None, ask: "ElicitCallback | None" = None) -> "ToolContext":
        """Return this context for one call."""
        if call == self.call and grant is None:
            return self
        return replace(self, call=call, grant=self.grant if grant is None else grant, ask=ask)

    def output_listener(self) -> Callable[[bytes], None] | None:
        """Return the receiver for the output of this call's command, if there is one."""
        return partial(self.on_output, self.call) if self.on_output else None

    async def close(self) -> None:
        await self.commands.close()
        await run_to_completion(self.committed.close, self.scan.git_places)
        await run_to_completion(self.history.drop)
        await self.network_access.close()
        self.broker.close()


def open_context(
    folder: Path,
    data: Path,
    on_output: CallOutputListener | None = None,
    choose_sandbox: Callable[[], Sandbox] | None = None,
    *,
    safe_mode: bool = False,
    web: WebSearch | None = None,
) -> ToolContext:
    """Open the context of a run. The sandbox is only set up when a command runs."""
    try:
        broker = FileBroker(folder)
    except OSError as error:
        message, fix = f"The folder {folder} cannot be opened.", "Restore it, or start a session in another folder."
        raise Problem(message, f"{error.strerror}.", fix) from error
    sandbox = LazySandbox(choose_sandbox or partial(machine_sandbox, data / SANDBOX_PROOF_FILE))
    return ToolContext(
        folder=folder,
        data=data,
        broker=broker,
        scan=FolderScan(folder, broker=broker),
        lazy_sandbox=sandbox,
        network_access=NetworkAccess(),
        commands=BackgroundCommands(),
        committed=CommittedFiles(folder, data),
        history=GitHistory(folder, data),
        history_changes=HistoryChanges(folder),
        shared=SharedRepository(folder),
        unsettled=UnsettledPaths(folder),
        on_output=on_output,
        safe_mode=safe_mode,
        web=web,
    )
