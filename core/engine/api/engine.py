"""The facade of `core`: every operation of the window and the command line, with plain values in and out."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from core.domain.events import (
    EVENT_CLASSES,
    ModelChanged,
    RunStarted,
    SessionCreated,
    SessionEvent,
    UntrustedContentRead,
)
from core.domain.message_files import AttachedFile, EmbeddedText
from core.domain.problems import Problem
from core.domain.provenance import ContentSource, is_untrusted, mark_as_data, new_boundary, source_label
from core.domain.session_metadata import initial_title
from core.domain.text import Attachment
from core.engine.api.maintenance import Maintenance
from core.engine.api.user_decisions import UserDecisions
from core.engine.external.external_agents import ExternalAgents
from core.engine.lifecycle.approvals import Approvals
from core.engine.lifecycle.message_queue import MessageQueue
from core.engine.lifecycle.run_controller import RunController
from core.engine.lifecycle.session_archive import SessionArchive
from core.engine.policy.imported_sessions import refuse_imported
from core.engine.policy.trust import refuse_unsafe_folder, trust_decision
from core.engine.policy.untrusted import fallback_boundary
from core.engine.prompting.profile_files import ProfileFiles
from core.engine.prompting.profiles import memory_limits, preferred_model
from core.engine.services.mcp_mentions import ExpandedMessage
from core.engine.services.mcp_servers import McpServerService
from core.engine.services.memory_service import MemoryService
from core.engine.services.packages import PackageService
from core.engine.services.providers import Providers, ProvidersOverview
from core.engine.services.sandbox_status import SandboxStatus, probe_sandbox
from core.engine.services.skills import SkillService
from core.engine.services.slash_commands import expand_command
from core.engine.state.conversation import next_run_start
from core.engine.state.live_updates import LiveUpdate, LiveUpdates
from core.engine.state.stored_conversation import change_model
from core.engine.state.unresolved_calls import UNFINISHED, Resolution, root_session
from core.memory.memories import Memories
from core.models.catalog import SCRIPTED
from core.models.model_check import ModelCheck
from core.settings.settings_file import SettingsFile
from core.store.blobs import blob_hash
from core.store.codec import type_adapter
from core.store.data_folder import DataFolder
from core.store.journal import Journal, Listener, Unsubscribe
from core.store.proposal_store import ProposalStore
from core.store.reader import Reader
from core.store.rule_store import RuleStore
from core.tools.catalogue import tool_specs
from core.workspace.paths import check_workspace

if TYPE_CHECKING:
    from core.engine.history.session_analytics import SessionAnalytics
    from core.engine.history.session_history import SessionHistory
    from core.engine.lifecycle.scheduler import Scheduler
    from core.engine.lifecycle.worktrees import Worktrees
    from core.engine.services.proposal_queue import ProposalQueue
    from core.exchange.exchange_service import ExchangeService


class Engine(Maintenance, UserDecisions):
    """Runs sessions and gives access to everything stored in the data folder.

    Call every method in the event loop that created it. Modules that the window does not need at startup are imported
    on first access.

    Attributes:
        settings: the user's settings. `settings.current` reads them, `settings.change(name=value)` writes them.
        skills: the skill library and the skills of project folders.
        memory: what agents remember across sessions.
        mcp_servers: the MCP servers: add, remove, test, accept changes, enable, disable.
        packages: the installed packages: add, show, trust, update, remove.
        external_agents: the external agents: list, discover, add, remove, test, and change their settings in a session.
        profile_files: the agent profiles: list, save, remove, restore.
        providers: the model providers: add, remove, set and remove API keys.
    """

    def __init__(
        self,
        opened: DataFolder,
        journal: Journal,
        reader: Reader,
        runs: RunController,
        live_updates: LiveUpdates,
        settings: SettingsFile,
        rule_store: RuleStore,
        providers: Providers,
        skills: SkillService,
        proposals: ProposalStore,
        memories: Memories,
        mcp_servers: McpServerService,
        packages: PackageService,
        external_agents: ExternalAgents,
        markdown_to_html: Callable[[str], str] | None = None,
    ) -> None:
        self._opened = opened
        self._journal = journal
        self._reader = reader
        self._runs = runs
        self._live_updates = live_updates
        self.settings = settings
        self.providers = providers
        self.skills = skills
        self.mcp_servers = mcp_servers
        self.packages = packages
        self.external_agents = external_agents
        self.profile_files = ProfileFiles(opened.path.parent)
        self._proposals = proposals
        self._rule_store = rule_store
        self._markdown_to_html = markdown_to_html
        self._approvals = Approvals(journal, reader, rule_store, runs.claimed)
        self._memories = memories
        limits = partial(memory_limits, opened.path.parent)
        self.memory = MemoryService(memories, reader, proposals, lambda: self.proposals, limits)
        self.queue = MessageQueue(runs, journal, reader)
        self.archive = SessionArchive(journal, reader, opened.database, self._end)

    @cached_property
    def history(self) -> "SessionHistory":
        """Fork sessions, run tasks again, rewind files and rate runs."""
        from core.engine.history.session_history import SessionHistory

        return SessionHistory(
            self._journal, self._reader, self._runs.start, self._runs.check_start, self._runs.hold_idle
        )

    @cached_property
    def proposals(self) -> "ProposalQueue":
        """The queue of changes that agents propose: list, accept, reject and undo them."""
        from core.engine.services.proposal_queue import ProposalQueue
        from core.memory.proposal_actions import MemoryProposals
        from core.skills.proposal_actions import SkillProposals

        return ProposalQueue(
            self._proposals,
            skills=SkillProposals(self.skills.library),
            memories=MemoryProposals(self._memories),
        )

    @cached_property
    def exchange(self) -> "ExchangeService":
        """Export and import sessions."""
        from core.exchange.exchange_service import ExchangeService

        return ExchangeService(
            self._journal,
            self._reader,
            self._opened.open_reader,
            self.providers.secrets,
            self.archive.purge,
            self._markdown_to_html,
        )

    @cached_property
    def analytics(self) -> "SessionAnalytics":
        """Reports, failures and comparisons of past runs."""
        from core.engine.history.session_analytics import SessionAnalytics

        return SessionAnalytics(self._journal, self._reader, self._runs.is_active)

    @cached_property
    def schedules(self) -> "Scheduler":
        """Sessions that start at a set time."""
        from core.engine.lifecycle.scheduler import Scheduler
        from core.store.schedule_store import ScheduleStore

        store = ScheduleStore(self._opened.path, self._opened.database, frozen=self._opened.immutable)
        return Scheduler(store, lambda: self.settings.current, self.start, self._reader.session)

    @cached_property
    def worktrees(self) -> "Worktrees":
        """Git worktrees in which sessions work."""
        from core.engine.lifecycle.worktrees import Worktrees

        return Worktrees(self._rule_store, self.sessions, self.is_active)

    async def warm_up(self) -> None:
        """Import the modules that the user's first actions need, in a thread. Called once the window is visible."""

        def import_modules() -> None:
            for kind in EVENT_CLASSES:
                type_adapter(kind)
            tool_specs()
            for name in ("core.engine.history.session_history", "core.engine.history.session_analytics"):
                import_module(name)

        # Import pydantic here first: two threads that import it at the same time can see a partly initialized module.
        type_adapter("run_started")
        await asyncio.to_thread(import_modules)

    async def sandbox_status(self) -> SandboxStatus:
        """Return how well commands are sandboxed on this system. The first call runs a command to find out."""
        return await probe_sandbox(self._opened.path.parent)

    async def preview_start(self, folder: Path, agent: str = "", model: str = "") -> RunStarted:
        """Return the event that a run in the folder would start with, which has its prompt. Nothing is recorded."""
        run_start = RunStarted(model or self.default_model(agent) or SCRIPTED, profile=agent)
        return await self._runs.prepare_start(run_start, folder)

    async def start(
        self,
        task: str,
        folder: Path,
        run_start: RunStarted,
        *origin: SessionEvent,
        worktree: bool = False,
        name: str = "",
        files: Sequence[AttachedFile] = (),
        embedded: Sequence[EmbeddedText] = (),
    ) -> str:
        """Create a session, start its first run as described by `run_start`, and return the session's ID.

        `origin` are events that record what started the session, such as a schedule. With `worktree` the session works
        in a new git worktree. `name` is the ID of the session; if empty, a new ID is generated. If `run_start` names no
        model, the run uses the default model of its agent profile. `files` and `embedded` are attached to the task.
        """
        if not task.strip():
            raise Problem("There is no task.", "The message is empty.", "Describe the task.")
        workspace = check_workspace(folder)
        refuse_unsafe_folder(workspace, self._opened.path.parent)
        self.mcp_servers.require_known(run_start.allow)
        run_start = run_start if run_start.model else replace(run_start, model=self.default_model(run_start.profile))
        if not run_start.model:
            raise Problem("No model is set up.", "", "Choose a model.")
        if worktree:
            self._runs.check_start(run_start)
            return await self.worktrees.start(
                task,
                workspace,
                lambda path, events: self.start(
                    task, path, run_start, *origin, *events, files=files, embedded=embedded
                ),
            )
        run_start = replace(run_start, boundary=run_start.boundary or new_boundary())
        message = await self.mcp_servers.expand_mentions(await self._expand(task, workspace), run_start.boundary)
        inserted = (*message.untrusted_sources, *self._embedded_sources(embedded, workspace))
        by_user = not run_start.untrusted_sources
        run_start = replace(run_start, untrusted_sources=(*run_start.untrusted_sources, *inserted))
        return await self._runs.open(
            SessionCreated(name, str(workspace), initial_title(task)),
            message.text,
            run_start,
            *origin,
            attached=await self._store_files([*files, *_embedded_files(embedded, run_start.boundary)]),
            typed=message.typed if by_user and inserted else None,
        )

    def default_model(self, profile: str = "") -> str:
        """Return the model or tier that an agent profile prefers, or else the model of the settings; may be empty."""
        current = self.settings.current
        return preferred_model(self._opened.path.parent, profile, current.tiers) or current.model

    async def send_message(
        self,
        session: str,
        text: str,
        *,
        now: bool = False,
        files: Sequence[AttachedFile] = (),
        embedded: Sequence[EmbeddedText] = (),
        no_questions: bool = False,
    ) -> None:
        """Send a message to a session, with `files` and `embedded` attached, which are stored durably before it.

        With `now` the reply in progress is interrupted. `no_questions` applies to the run that the message starts.
        """
        inserted: tuple[str, ...] = ()
        if embedded:
            files = [*files, *_embedded_files(embedded, await self._boundary(session))]
            inserted = self._embedded_sources(embedded, Path(self.session(session).folder))
            await self._record_untrusted(session, inserted)
        attached = await self._store_files(files)
        if text.startswith("/"):
            text = await self._expand(text, Path(self.session(session).folder))
        message = ExpandedMessage(text, len(text))
        if text.startswith("/") or "@" in text:
            message = await self._with_mcp_mentions(session, text)
        typed = message.typed if inserted or message.untrusted_sources else None
        await self._runs.send_message(
            session, message.text, now=now, attached=attached, typed=typed, no_questions=no_questions
        )

    async def _store_files(self, files: Sequence[AttachedFile]) -> tuple[Attachment, ...]:
        """Store the contents of the files durably, and return the attachments that refer to them."""
        if not files:
            return ()
        await self._journal.store_blobs({blob_hash(file.body): file.body for file in files})
        return tuple(Attachment(file.name, file.media_type, blob_hash(file.body), len(file.body)) for file in files)

    async def _with_mcp_mentions(self, session: str, text: str) -> ExpandedMessage:
        """Return the message with the MCP resources and prompts that it mentions.

        The MCP servers are recorded as sources of untrusted content before the message reaches the session.
        """
        refuse_imported(self.session(session))
        message = await self.mcp_servers.expand_mentions(text, await self._boundary(session))
        if message.untrusted_sources:
            await self._journal.append(
                session, *(UntrustedContentRead("", source) for source in message.untrusted_sources)
            )
        return message

    async def _boundary(self, session: str) -> str:
        conversation = await self._runs.conversation(self.session(session).id)
        return next_run_start(conversation).boundary or fallback_boundary(session)

    async def _record_untrusted(self, session: str, sources: Sequence[str]) -> None:
        if not sources:
            return  # Skip loading the conversation, which may be long.
        conversation = await self._runs.conversation(self.session(session).id)
        new = [source for source in sources if source not in conversation.permissions.untrusted]
        if new:
            await self._journal.append(session, *(UntrustedContentRead("", source) for source in new))

    def _embedded_sources(self, embedded: Sequence[EmbeddedText], folder: Path) -> tuple[str, ...]:
        """Return the untrusted source of texts that an editor inserted; () without texts or in a trusted folder."""
        source = ContentSource("folder")
        trusted = trust_decision(self._rule_store.current(), str(folder)) is True
        return (source_label(source),) if embedded and is_untrusted(source, trusted=trusted) else ()

    async def _expand(self, text: str, folder: Path) -> str:
        """Expand a custom slash command or the name of a skill; return any other text unchanged."""
        if not text.startswith("/"):
            return text
        follows = self._followed(folder)
        expanded = await asyncio.to_thread(expand_command, text, self._opened.path.parent, folder, follows)
        return expanded if expanded != text else await self.skills.expand(text, folder)

    async def choose_model(
        self, session: str, model: str, *, effort: str = "", max_output: int = 0, temperature: float | None = None
    ) -> None:
        """Change the model and its parameters, from the next request on."""
        refuse_imported(self.session(session))
        chosen = ModelChanged(model, effort, max_output, temperature)
        await change_model(self._journal, self._runs.check_start, session, chosen)

    async def last_start(self, session: str) -> RunStarted:
        """Return the configuration for the next run: as in the last run, with the model and mode chosen since then."""
        return next_run_start(await self._runs.conversation(self.session(session).id))

    async def providers_overview(self, *, fresh: bool = False) -> ProvidersOverview:
        """Return every provider with its models, their context windows and prices, and where its API key comes from.

        With `fresh`, the model lists are requested from the providers instead of read from the cache.
        """
        return await self.providers.overview(refresh=fresh)

    async def test_model(self, name: str) -> ModelCheck:
        """Send two short real requests to check that the model answers, streams and accepts tool calls."""
        return await self.providers.test(name)

    async def pause(self, session: str) -> None:
        await self._runs.pause(session)

    async def compact_context(self, session: str) -> bool:
        """Compact the context: after the current turn if a run is active, otherwise at once.

        Return False if no run is active and there is nothing to compact.
        """
        return await self._runs.compact(session)

    async def stop(self, session: str) -> None:
        await self._runs.stop(session)

    async def _end(self, session: str) -> None:
        """Stop the session unless it has ended."""
        if self.is_active(session) or self.session(session).status in UNFINISHED:
            await self._runs.stop(session)

    async def resume(self, session: str, resolution: Resolution = "") -> None:
        await self._runs.resume(session, resolution)

    async def run_again(self, session: str) -> None:
        await self._runs.run_again(session)

    async def await_policy_check(self, session: str) -> None:
        """Wait until a resumed run has checked its pending permission requests against the current rules and mode.

        The requests that are still pending afterwards need the user's decision.
        """
        await self._runs.await_policy_check(session)

    async def await_hooks(self, session: str) -> None:
        """Wait until the user's hooks have been notified of the run's open questions."""
        await self._runs.await_hooks(session)

    async def unresolved_calls(self, session: str) -> dict[str, str]:
        """Return the calls that may have run before a crash: call ID → what the call acts on."""
        return await self._runs.unresolved_calls(session)

    async def wait_idle(self, session: str) -> None:
        """Wait until no run of the session is active."""
        await self._runs.wait_idle(session)

    def call_when_idle(self, session: str, call: Callable[[], None]) -> None:
        """Call back once no run of the session is active and its last event has been delivered."""
        self._runs.call_when_idle(session, call)

    def root_session(self, session: str) -> str:
        """Return the session to resume: a sub-agent's outermost unfinished ancestor, otherwise the session itself."""
        return root_session(self._reader, session)

    def is_active(self, session: str) -> bool:
        return self._runs.is_active(session)

    def subscribe(self, listener: Listener) -> Unsubscribe:
        return self._journal.listen(listener)

    def subscribe_live_updates(self, listener: Callable[[LiveUpdate], None]) -> Unsubscribe:
        return self._live_updates.subscribe(listener)


def _embedded_files(embedded: Sequence[EmbeddedText], boundary: str) -> list[AttachedFile]:
    """Convert the texts that an editor inserted to files, marked as data."""
    files = []
    for name, text in embedded:
        marked = mark_as_data(text, ContentSource("folder", name), boundary)
        files.append(AttachedFile(name, "text/plain", marked.encode("utf-8", "replace")))
    return files
