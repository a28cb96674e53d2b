"""Builds every service of the engine once, from the bottom up, and closes them in reverse order."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from core.agents.agent_pool import AgentPool
from core.domain.problems import ErrorDetails
from core.engine.api.engine import Engine
from core.engine.external.external_agents import ExternalAgents
from core.engine.lifecycle.run_controller import RunController
from core.engine.lifecycle.run_factory import RunFactory
from core.engine.policy.trust import followed_files, refuse_unsafe_folder
from core.engine.prompting.profiles import memory_limits, preferred_model
from core.engine.prompting.start_preparation import prepare_start
from core.engine.services.mcp_servers import McpServerService
from core.engine.services.packages import PackageService
from core.engine.services.providers import Providers
from core.engine.services.skills import SkillService
from core.engine.state.live_updates import LiveUpdate, LiveUpdates
from core.learning.review import SessionReviewer
from core.mcp.servers import McpServers
from core.memory.index_terms import index_terms
from core.memory.memories import Memories
from core.memory.run_memory import RunMemory, learning_context
from core.memory.run_recorder import RunRecorder
from core.memory.semantic_search import SemanticSearch
from core.models.catalog import ModelCatalog
from core.models.local.found_models import find_models
from core.models.local.local_models import LocalModelOptions, LocalModels
from core.packages.package_index import PackageIndex
from core.settings.api_keys import ApiKeys
from core.settings.settings_file import SettingsFile
from core.skills.library import SkillLibrary
from core.skills.skill_disk import SkillDisk, home_folder
from core.store.data_folder import DataFolder, open_data_folder
from core.store.journal import Journal
from core.store.memory_store import MemoryStore
from core.store.partial_reply import take_partial_replies
from core.store.proposal_store import ProposalStore
from core.store.reader import Reader
from core.store.rule_store import RuleStore
from core.store.skill_store import SkillStore
from core.tools.mcp_tools import mcp_tool_specs
from core.tools.search_web import NAME as SEARCH_WEB
from core.tools.tool_context import ToolContext, open_context
from core.tools.web_search import WebSearch
from core.workspace.command_process import MARKER_VARIABLE
from core.workspace.process_tree import kill_orphans
from ui.text.html import markdown_to_html


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that runs on the engine's event loop."""

    engine: Engine
    runs: RunController
    servers: McpServers
    agents: AgentPool
    opened: DataFolder
    reader: Reader
    rules: RuleStore
    memories: Memories
    memory_store: MemoryStore
    proposals: ProposalStore
    reviews: SessionReviewer
    semantic_search: SemanticSearch
    local_models: LocalModels

    @property
    def warnings(self) -> tuple[ErrorDetails, ...]:
        """Warnings about the data folder to show to the user."""
        return self.opened.warnings

    async def close(self) -> None:
        """End all runs, then close the database: the writing connection last, because that checkpoints the WAL."""
        await self.reviews.close()
        await self.runs.close()
        await self.semantic_search.close()
        await self.local_models.close()
        await self.servers.close()
        await self.agents.close()
        self.reader.close()
        self.memory_store.close()
        if self.opened.database:
            self.opened.database.close()


async def build_services(
    folder: Path, report: Callable[[BaseException], None], *, safe: bool = False, opened: DataFolder | None = None
) -> Services:
    """Build the services and recover from a killed process.

    Must run in the engine's thread, to which the SQLite connections are bound. `report` is called with unhandled
    errors. With `safe`, hooks, MCP servers and project instructions are off.
    """
    services = _connect_services(opened or open_data_folder(folder), folder, report, safe=safe)
    try:
        await _recover(services)
    except asyncio.CancelledError:  # the program is being ended
        await services.close()
        raise
    return services


def _connect_services(
    opened: DataFolder, folder: Path, report: Callable[[BaseException], None], *, safe: bool
) -> Services:
    settings = SettingsFile(folder, frozen=opened.immutable)
    opened = replace(opened, warnings=(*opened.warnings, *settings.notes))
    reader = opened.open_reader()
    journal = Journal(opened.database, reader)
    drafts = LiveUpdates()
    secrets = ApiKeys(os.environ)
    web = WebSearch(lambda: settings.current, secrets)
    agents = AgentPool(lambda: settings.current, folder)
    packages = PackageIndex(folder, frozen=opened.immutable)
    servers = McpServers(settings, folder, secrets, os.environ, is_trusted_package=packages.is_trusted)
    local_models = _local_models(folder, settings)
    catalog = ModelCatalog(lambda: settings.current, secrets, os.environ, settings.change, local_models)
    rules = RuleStore(opened.path, opened.database, frozen=opened.immutable)
    skills = SkillService(_open_skills(opened, packages), rules)
    memory_store = MemoryStore(opened.path, opened.database, index_terms, frozen=opened.immutable)
    search = _semantic_search(memory_store, settings)
    memories = Memories(memory_store, semantic_search=search)
    proposals = ProposalStore(opened.path, opened.database, journal, frozen=opened.immutable)
    RunRecorder(journal, memories, lambda: settings.current.memory, partial(memory_limits, folder))
    tool_contexts = _ToolContextFactory(
        folder=folder, settings=settings, updates=drafts, memories=memories,
        proposals=proposals, web=web, servers=servers, safe=safe,
    )  # fmt: skip
    prepare = partial(
        prepare_start, home=folder, rule_store=rules, safe=safe, skill_service=skills,
        unconfigured_tools=partial(_unconfigured_tools, web), mcp_tools=lambda: tuple(mcp_tool_specs(servers.all())),
        needs_compact=catalog.needs_compact_prompt,
    )  # fmt: skip
    factory = RunFactory(
        journal=journal, reader=reader, live_updates=drafts, models=catalog, rule_store=rules, agent_connections=agents,
        skills=skills, proposals=proposals,
        tiers=lambda: settings.current.tiers,
        compact_at=lambda: settings.current.compact_at_tokens,
        preferred_model=lambda agent: preferred_model(folder, agent, settings.current.tiers),
    )  # fmt: skip
    runs = RunController(journal, reader, report, prepare, tool_contexts.open, factory)
    mcp_servers = McpServerService(settings, servers, secrets, lambda at: followed_files(rules.current(), at), rules)
    engine = Engine(
        opened, journal, reader, runs, drafts, settings, rules, Providers(catalog, settings, os.environ), skills,
        proposals, memories, mcp_servers, PackageService(packages, mcp_servers),
        ExternalAgents(settings, agents, journal), markdown_to_html,
    )  # fmt: skip
    return Services(
        engine=engine,
        runs=runs,
        servers=servers,
        agents=agents,
        opened=opened,
        reader=reader,
        rules=rules,
        memories=memories,
        memory_store=memory_store,
        proposals=proposals,
        reviews=SessionReviewer(journal, reader, runs, lambda: settings.current, report, catalog.secrets),
        semantic_search=search,
        local_models=local_models,
    )


@dataclass(frozen=True, slots=True)
class _ToolContextFactory:
    """Creates the context that the tools of a run need, from the services of the process."""

    folder: Path
    settings: SettingsFile
    updates: LiveUpdates
    memories: Memories
    proposals: ProposalStore
    web: WebSearch
    servers: McpServers
    safe: bool

    def open(self, workspace: Path, session: str) -> ToolContext:
        """Return the context for a run of a session in `workspace`. Raise Problem if that folder is not safe."""

        def on_output(call: str, output: bytes) -> None:
            self.updates.publish(LiveUpdate(session, call=call, output=output))

        # A fork of an imported session may name a folder from another computer.
        refuse_unsafe_folder(workspace, self.folder)
        context = open_context(workspace, self.folder, on_output, safe_mode=self.safe, web=self.web)
        return replace(
            context, memory=self._open_memory(workspace, session), servers=None if self.safe else self.servers
        )

    def _open_memory(self, workspace: Path, session: str) -> RunMemory:
        return RunMemory(
            self.memories,
            self.proposals,
            session,
            str(workspace),
            learning_context(self.memories, partial(memory_limits, self.folder)),
            policy=lambda: self.settings.current.learning,
            is_enabled=lambda: self.settings.current.memory,
        )


def _unconfigured_tools(web: WebSearch) -> tuple[str, ...]:
    return () if web.host else (SEARCH_WEB,)


def _local_models(folder: Path, settings: SettingsFile) -> LocalModels:
    def options() -> LocalModelOptions:
        current = settings.current
        return LocalModelOptions(
            proxy=current.proxy,
            idle_s=current.local_idle_minutes * 60.0,
            threads=current.local_threads,
            window=current.local_window,
            gpu_layers=current.local_gpu_layers,
        )

    return LocalModels(folder / "models", options, os.environ, find=partial(find_models, os.environ, Path.home()))


def _open_skills(opened: DataFolder, packages: PackageIndex) -> SkillLibrary:
    store = SkillStore(opened.path, opened.database, frozen=opened.immutable)
    return SkillLibrary(store, SkillDisk(home_folder(), packages=packages.trusted_folders))


def _semantic_search(store: MemoryStore, settings: SettingsFile) -> SemanticSearch:
    search = SemanticSearch(store, lambda: settings.current.embedding_model if settings.current.memory else "")
    settings.listen(lambda _: search.retry())
    return search


async def _recover(services: Services) -> None:
    """Recover from a killed process: kill its external agents, mark its runs as interrupted, finish its memory work."""
    if services.opened.database is None:
        return
    kill_orphans(MARKER_VARIABLE.encode())
    await services.agents.end_leftovers()
    data = services.opened.path.parent
    await services.runs.recover(data, take_partial_replies(data))
    await services.memories.rebuild_missing()
