"""The command `doctor`: checks the computer and the stored data, and suggests fixes."""

import asyncio
import importlib.util
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from app.commands.invocation import Invocation
from app.commands.rules import print_decision
from app.commands.trust import describe_trust
from app.process.exit_codes import DONE, FAILED
from app.process.output import plural
from core.domain.optional_packages import XLLAMACPP, how_to_install
from core.domain.problems import Problem
from core.engine.services.sandbox_status import SandboxStatus
from core.store.integrity import damage
from core.workspace.inotify import Inotify
from core.workspace.program_search import find_program

if TYPE_CHECKING:
    from core.engine.services.providers import ProvidersOverview
    from core.packages.package_index import PackageState

PACKAGE_STATES: "Mapping[PackageState, str]" = MappingProxyType(
    {
        "trusted": "used",
        "untrusted": "not trusted yet",
        "changed": "changed since you trusted it",
        "missing": "its files are missing or damaged",
    }
)
MIN_FREE_BYTES = 256 << 20  # free disk space below which the check fails


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """The result of one check, as a line of the report."""

    name: str
    ok: bool
    result: str
    fix: str = ""
    suggestion: str = ""  # what the user could improve, although the check passed


async def doctor(context: Invocation) -> int:
    if context.args.rule is not None:
        return await print_decision(context, context.args.rule, context.folder)
    checks = [
        *_check_computer(context),
        check_sandbox(await context.engine.sandbox_status()),
        await _check_folder(context),
        *_check_models(await context.engine.providers_overview()),
        _check_local_models(context),
        *await _check_servers(context),
        *await _check_packages(context),
        await _check_semantic_search(context),
        await _check_database(context),
        await _check_data(context),
    ]
    for check in checks:
        if context.args.json:
            context.out.write_json(asdict(check))
        else:
            context.out.write(f"{'ok  ' if check.ok else 'FAIL'}  {check.name}: {check.result}")
            if check.fix and not check.ok:
                context.out.write(f"      hint: {check.fix}")
            if check.suggestion:
                context.out.write(f"      hint: {check.suggestion}")
    return DONE if all(check.ok for check in checks) else FAILED


def check_sandbox(status: SandboxStatus) -> HealthCheck:
    """Report how well the sandbox isolates commands on this computer, according to its self-test."""
    if status.disabled:
        return HealthCheck("Sandbox", False, status.disabled.cause or status.disabled.message, status.disabled.fix)
    if not status.gaps:
        return HealthCheck("Sandbox", True, f"{status.name}, {status.level}")
    result = f"{status.name}, {status.level}; a command can still {'; '.join(status.gaps)}"
    if find_program("bwrap"):
        action = "Update bubblewrap, or allow it to create user namespaces"
    elif status.install_command:
        action = f"Install bubblewrap (`{status.install_command}`)"
    else:
        action = "Install bubblewrap"
    return HealthCheck("Sandbox", True, result, suggestion=f"{action}, so that the sandbox prevents this too.")


async def _check_folder(context: Invocation) -> HealthCheck:
    """Report whether the project instructions of the current folder are followed."""
    trust = await context.engine.folder_trust(context.folder)
    is_undecided = trust.needs_decision and trust.instructions
    suggestion = "Read them, then follow them with: journeyman trust" if is_undecided else ""
    return HealthCheck("Folder", True, f"{trust.folder}: {describe_trust(trust)}", suggestion=suggestion)


async def _check_servers(context: Invocation) -> list[HealthCheck]:
    """Start each enabled MCP server, and report whether its tools are still the ones that the user accepted."""
    servers = [row for row in context.engine.mcp_servers.list() if row.enabled]
    results = await asyncio.gather(*(context.engine.mcp_servers.test(row.name) for row in servers))
    checks = []
    for result in results:
        name = f"MCP server {result.name}"
        suggestion = f"Its tools have changed: journeyman mcp test {result.name}" if result.changed else ""
        if error := result.error:
            checks.append(HealthCheck(name, False, f"{error.message} {error.cause}", error.fix, suggestion))
        else:
            checks.append(HealthCheck(name, True, plural(len(result.tools), "tool"), suggestion=suggestion))
    return checks


async def _check_packages(context: Invocation) -> list[HealthCheck]:
    """Report the state of each package. A package whose files changed since the user trusted it fails the check."""
    return [
        HealthCheck(
            name=f"Package {row.package.name}",
            ok=row.state in ("trusted", "untrusted"),
            result=PACKAGE_STATES[row.state],
            fix=f"Review it: journeyman packages show {row.package.name}",
        )
        for row in await context.engine.packages.list()
    ]


async def _check_semantic_search(context: Invocation) -> HealthCheck:
    """Report whether semantic search of memories is enabled and works."""
    status = await context.engine.memory.semantic_search_status()
    if status.error:
        return HealthCheck("Memory", False, f"{status.error.message} {status.error.cause}", status.error.fix)
    indexed = f"{status.embedded:,} of {status.memories:,}"
    return HealthCheck("Memory", True, f"semantic search: {indexed} indexed" if status.model else "search by words")


def _check_local_models(context: Invocation) -> HealthCheck:
    """Report whether Journeyman can run models itself, and how many are downloaded."""
    rows = context.engine.providers.local_models.rows()
    downloaded = f"{sum(row.is_available for row in rows)} of {len(rows)} on this computer"
    if importlib.util.find_spec("xllamacpp") is None:
        suggestion = f"To run models without a server, install xllamacpp: {how_to_install(XLLAMACPP)}"
        return HealthCheck("Local models", True, f"{downloaded}; xllamacpp is not installed", suggestion=suggestion)
    return HealthCheck("Local models", True, downloaded)


def _check_computer(context: Invocation) -> Iterator[HealthCheck]:
    version = platform.python_version()
    yield HealthCheck("Python", (3, 11) <= sys.version_info[:2] < (3, 15), version, "Use Python 3.11 to 3.14.")
    yield _check_qt()
    free = shutil.disk_usage(context.data_folder).free
    yield HealthCheck("Disk", free >= MIN_FREE_BYTES, f"{free / 2**30:.1f} GB free", "Free some disk space.")
    if sys.platform == "linux":
        yield check_notifications()
    rules = context.rules.read()
    if rules.error:
        yield HealthCheck(
            "Rules", False, f"{rules.error.message} {rules.error.cause}", "Revoke it: journeyman rules revoke ID"
        )


def check_notifications() -> HealthCheck:
    """Report whether the kernel notifies Journeyman of changed files, which it needs while commands run."""
    try:
        Inotify(lambda _watch, _name: None).close()
    except OSError as error:
        missing = f"none ({error.strerror}): protected files are checked only every few seconds while commands run"
        fix = "Close other programs, or raise the limit: sudo sysctl fs.inotify.max_user_instances=1024"
        return HealthCheck("Change notifications", False, missing, fix)
    return HealthCheck("Change notifications", True, "inotify")


def _check_models(overview: "ProvidersOverview") -> Iterator[HealthCheck]:
    """Report whether a model is available to start a run, and where API keys are stored."""
    available = [row for row in overview.providers if row.models]
    count = sum(len(row.models) for row in available)
    added = [row for row in overview.providers if row.added_by == "you"]
    unreachable = [row for row in added if row.reachable is False and not row.error]
    empty_text = "no provider responds" if unreachable else "no provider is set up"
    result = f"{count:,} from {', '.join(row.name for row in available)}" if available else empty_text
    suggestion = ""
    if not available:
        suggestion = "Start a local server such as Ollama, or set an API key: journeyman models key NAME"
    elif not overview.model:
        suggestion = "New sessions have no model: journeyman models use PROVIDER/MODEL"
    yield HealthCheck("Models", True, result, suggestion=suggestion)
    for row in overview.providers:
        if row.error:
            yield HealthCheck(f"Models of {row.name}", False, f"{row.error.message} {row.error.cause}", row.error.fix)
    for row in unreachable:
        fix = f"Start it, or remove it: journeyman models remove {row.name}"
        yield HealthCheck(f"Models of {row.name}", False, f"Nothing listens at {row.url}.", fix)
    error = overview.keyring_error
    keyring = overview.keyring or (f"none. {error.message}" if error else "none.")
    yield HealthCheck("Keyring", True, keyring, suggestion=error.fix if error else "")
    if overview.unused_proxy:
        note = f"To use it: journeyman models proxy {overview.unused_proxy}"
        yield HealthCheck("Proxy", True, "the environment names one, which is not used", suggestion=note)


async def _check_database(context: Invocation) -> HealthCheck:
    """Read the whole database and report damage."""
    report = await context.engine.check_integrity()
    if report.errors:
        found = damage(report).details
        return HealthCheck("Database", False, f"{found.message} {found.cause}", found.fix)
    return HealthCheck("Database", True, "every page was read; no damage")


async def _check_data(context: Invocation) -> HealthCheck:
    try:
        stats = await context.engine.table_statistics()
    except Problem as problem:
        return HealthCheck("Data", False, f"{problem.details.message} {problem.details.cause}", problem.details.fix)
    rows = stats.rows
    size = f"{rows['session']:,} sessions, {rows['event']:,} events, {stats.disk_bytes / 2**20:.1f} MB"
    result = f"{context.data_folder}: {size}"
    if stats.largest:
        largest = stats.largest[0]
        result += f"; the largest is {largest.id} ({largest.events:,} events)"
    return HealthCheck("Data", True, result)


def _check_qt() -> HealthCheck:
    if importlib.util.find_spec("PySide6") is None:
        return HealthCheck("Window", False, "PySide6 is not installed.", "Run `python3 packaging/dev.py run`.")
    try:
        from PySide6.QtCore import qVersion  # imported here, because no other command needs Qt
        from PySide6.QtGui import QGuiApplication  # noqa: F401  # loads the libraries that a window needs
    except ImportError as error:
        return HealthCheck("Window", False, str(error), "Install the missing system library.")
    return HealthCheck("Window", True, f"Qt {qVersion()}")
