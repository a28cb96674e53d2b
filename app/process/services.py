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
from core.engine.prompting.system_prompt import prepare_start
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
from core.memory.saving import LearningLimits
from core.memory.semantic_search import SemanticSearch
from core.models.catalog import ModelCatalog
from core.models.local.found_models import find_models
from core.models.local.local_models import LocalModelOptions, LocalModels
from core.packages.package_index import PackageIndex
from core.settings.api_keys import ApiKeys
from core.settings.schema import Settings
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
    except asyncio.CancelledError:  # the program ends
        await services.close()
        raise
    return services


def _connect_services(
    opened: DataFolder, folder: Path, report: Callable[[BaseException], None], *, safe: bool
) -> Services:
    settings = SettingsFile(folder, frozen=opened.immutable)
    opened = replace(opened, warnings=(*opened.warnings, *settings.notes))
    journal = Journal(opened.database, reader := opened.open_reader())
    drafts, secrets = LiveUpdates(), ApiKeys(os.environ)
    web = WebSearch(lambda: settings.current, secrets)
    agents = AgentPool(lambda: settings.current, folder)
    packages = PackageIndex(folder, frozen=opened.immutable)
    servers = McpServers(settings, folder, secrets, os.environ, is_trusted_package=packages.is_trusted)
    local_models = _local_models(folder, settings)
    catalog = ModelCatalog(lambda: settings.current, secrets, os.environ, settings.change, local_models)
    rules = RuleStore(opened.path, opened.database, frozen=opened.immutable)
    skills = SkillService(_open_skills(opened, packages), rules)
    memory_store, search, memories = _open_memories(opened, settings)
    proposals = ProposalStore(opened.path, opened.database, journal, frozen=opened.immutable)
    limits = partial(memory_limits, folder)
    RunRecorder(journal, memories, lambda: settings.current.memory, limits)

    open_memory = partial(_open_run_memory, memories, proposals, lambda: settings.current, limits)
    open_tools = partial(_open_tools, folder, drafts, open_memory, web, None if safe else servers, safe=safe)
    prepare = partial(
        prepare_start, home=folder, book=rules, safe=safe, skills=skills,
        unconfigured=lambda: () if web.host else (SEARCH_WEB,), mcp_tools=lambda: tuple(mcp_tool_specs(servers.all())),
        needs_compact=catalog.needs_compact_prompt,
    )  # fmt: skip
    factory = RunFactory(
        journal, reader, drafts, catalog, rules, agents, tiers=lambda: settings.current.tiers,
        compact_at=lambda: settings.current.compact_at_tokens, skills=skills, proposals=proposals,
        preferred_model=lambda agent: preferred_model(folder, agent, settings.current.tiers),
    )  # fmt: skip
    runs = RunController(journal, reader, report, prepare, open_tools, factory)
    mcp_servers = McpServerService(settings, servers, secrets, lambda at: followed_files(rules.current(), at))
    engine = Engine(
        opened, journal, reader, runs, drafts, settings, rules, Providers(catalog, settings, os.environ), skills,
        proposals, memories, mcp_servers, PackageService(packages, mcp_servers),
        ExternalAgents(settings, agents, journal), markdown_to_html,
    )  # fmt: skip
    reviews = SessionReviewer(journal, reader, runs, lambda: settings.current, report, catalog.secrets)
    return Services(
        engine,
        runs,
        servers,
        agents,
        opened,
        reader,
        rules,
        memories,
        memory_store,
        proposals,
        reviews,
        search,
        local_models,
    )


def _open_run_memory(
    memories: Memories,
    proposals: ProposalStore,
    settings: Callable[[], Settings],
    limits: Callable[[str], LearningLimits],
    workspace: Path,
    session: str,
) -> RunMemory:
    return RunMemory(
        memories, proposals, session, str(workspace), learning_context(memories, limits),
        policy=lambda: settings().learning, is_enabled=lambda: settings().memory,
    )  # fmt: skip


def _open_tools(
    folder: Path,
    drafts: LiveUpdates,
    open_memory: Callable[[Path, str], RunMemory],
    web: WebSearch,
    servers: McpServers | None,
    workspace: Path,
    session: str,
    *,
    safe: bool,
) -> ToolContext:
    """Return what the tools of a run in `workspace` need."""

    def on_output(call: str, printed: bytes) -> None:
        drafts.publish(LiveUpdate(session, call=call, output=printed))

    refuse_unsafe_folder(workspace, folder)  # a fork of an imported session may name a folder from another computer
    context = open_context(workspace, folder, on_output, safe_mode=safe, web=web)
    return replace(context, memory=open_memory(workspace, session), servers=servers)


def _local_models(folder: Path, settings: SettingsFile) -> LocalModels:
    def options() -> LocalModelOptions:
        now = settings.current
        return LocalModelOptions(
            now.proxy, now.local_idle_minutes * 60.0, now.local_threads, now.local_window, now.local_gpu_layers
        )

    return LocalModels(folder / "models", options, os.environ, find=partial(find_models, os.environ, Path.home()))


def _open_skills(opened: DataFolder, packages: PackageIndex) -> SkillLibrary:
    store = SkillStore(opened.path, opened.database, frozen=opened.immutable)
    return SkillLibrary(store, SkillDisk(home_folder(), packages=packages.trusted_folders))


def _open_memories(opened: DataFolder, settings: SettingsFile) -> tuple[MemoryStore, SemanticSearch, Memories]:
    store = MemoryStore(opened.path, opened.database, index_terms, frozen=opened.immutable)
    search = SemanticSearch(store, lambda: settings.current.embedding_model if settings.current.memory else "")
    settings.listen(lambda _: search.retry())
    return store, search, Memories(store, semantic_search=search)


async def _recover(services: Services) -> None:
    """Recover from a killed process: end its agents, mark its runs as interrupted and finish pending memory work."""
    if services.opened.database is None:
        return
    kill_orphans(MARKER_VARIABLE.encode())
    await services.agents.end_leftovers()
    await services.runs.recover(take_partial_replies(services.opened.path.parent))
    await services.memories.rebuild_missing()
