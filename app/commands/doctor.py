"""The command `doctor`: checks the computer and the stored data, and suggests fixes."""

import asyncio
import importlib.util
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from app.commands.invocation import Invocation
from app.commands.rules import print_decision
from app.commands.trust import describe_trust
from app.process.exit_codes import DONE, FAILED
from app.process.output import plural
from core.domain.optional_packages import XLLAMACPP, how_to_install
from core.domain.problems import ErrorDetails, Problem
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


def _passed(name: str, result: str, suggestion: str = "") -> HealthCheck:
    return HealthCheck(name, ok=True, result=result, suggestion=suggestion)


def _failed(name: str, error: ErrorDetails, suggestion: str = "") -> HealthCheck:
    return HealthCheck(name, ok=False, result=f"{error.message} {error.cause}", fix=error.fix, suggestion=suggestion)


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
        reason = status.disabled.cause or status.disabled.message
        return HealthCheck("Sandbox", ok=False, result=reason, fix=status.disabled.fix)
    if not status.gaps:
        return _passed("Sandbox", f"{status.name}, {status.level}")
    result = f"{status.name}, {status.level}; a command can still {'; '.join(status.gaps)}"
    if find_program("bwrap"):
        action = "Update bubblewrap, or allow it to create user namespaces"
    elif status.install_command:
        action = f"Install bubblewrap (`{status.install_command}`)"
    else:
        action = "Install bubblewrap"
    return _passed("Sandbox", result, f"{action}, so that the sandbox prevents this too.")


async def _check_folder(context: Invocation) -> HealthCheck:
    """Report whether the project instructions of the current folder are followed."""
    trust = await context.engine.folder_trust(context.folder)
    is_undecided = trust.needs_decision and trust.instructions
    suggestion = "Read them, then follow them with: journeyman trust" if is_undecided else ""
    return _passed("Folder", f"{trust.folder}: {describe_trust(trust)}", suggestion)


async def _check_servers(context: Invocation) -> list[HealthCheck]:
    """Start each enabled MCP server, and report whether its tools are still the ones that the user accepted."""
    servers = [row for row in context.engine.mcp_servers.list() if row.enabled]
    results = await asyncio.gather(*(context.engine.mcp_servers.test(row.name) for row in servers))
    checks = []
    for result in results:
        name = f"MCP server {result.name}"
        suggestion = f"Its tools have changed: journeyman mcp test {result.name}" if result.changed else ""
        if result.error:
            checks.append(_failed(name, result.error, suggestion))
        else:
            checks.append(_passed(name, plural(len(result.tools), "tool"), suggestion))
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
        return _failed("Memory", status.error)
    if not status.model:
        return _passed("Memory", "search by words")
    return _passed("Memory", f"semantic search: {status.embedded:,} of {status.memories:,} indexed")


def _check_local_models(context: Invocation) -> HealthCheck:
    """Report whether Journeyman can run models itself, and how many are downloaded."""
    rows = context.engine.providers.local_models.rows()
    downloaded = f"{sum(row.is_available for row in rows)} of {len(rows)} on this computer"
    if importlib.util.find_spec("xllamacpp") is None:
        suggestion = f"To run models without a server, install xllamacpp: {how_to_install(XLLAMACPP)}"
        return _passed("Local models", f"{downloaded}; xllamacpp is not installed", suggestion)
    return _passed("Local models", downloaded)


def _check_computer(context: Invocation) -> Iterator[HealthCheck]:
    yield HealthCheck(
        name="Python",
        ok=(3, 11) <= sys.version_info[:2] < (3, 15),
        result=platform.python_version(),
        fix="Use Python 3.11 to 3.14.",
    )
    yield _check_qt()
    free = shutil.disk_usage(context.data_folder).free
    yield HealthCheck(
        name="Disk", ok=free >= MIN_FREE_BYTES, result=f"{free / 2**30:.1f} GB free", fix="Free some disk space."
    )
    if sys.platform == "linux":
        yield check_notifications()
    if error := context.engine.rules().error:
        yield _failed("Rules", replace(error, fix="Revoke it: journeyman rules revoke ID"))


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
    """Report whether a model is available to start a run, where API keys are stored, and whether a proxy is unused."""
    unreachable = [
        row for row in overview.providers if row.added_by == "you" and row.reachable is False and not row.error
    ]
    yield _check_available_models(overview, any_unreachable=bool(unreachable))
    for row in overview.providers:
        if row.error:
            yield _failed(f"Models of {row.name}", row.error)
    for row in unreachable:
        fix = f"Start it, or remove it: journeyman models remove {row.name}"
        yield HealthCheck(f"Models of {row.name}", ok=False, result=f"Nothing listens at {row.url}.", fix=fix)
    yield _check_keyring(overview)
    if overview.unused_proxy:
        suggestion = f"To use it: journeyman models proxy {overview.unused_proxy}"
        yield _passed("Proxy", "the environment names one, which is not used", suggestion)


def _check_available_models(overview: "ProvidersOverview", *, any_unreachable: bool) -> HealthCheck:
    available = [row for row in overview.providers if row.models]
    if not available:
        result = "no provider responds" if any_unreachable else "no provider is set up"
        suggestion = "Start a local server such as Ollama, or set an API key: journeyman models key NAME"
        return _passed("Models", result, suggestion)
    count = sum(len(row.models) for row in available)
    suggestion = "" if overview.model else "New sessions have no model: journeyman models use PROVIDER/MODEL"
    return _passed("Models", f"{count:,} from {', '.join(row.name for row in available)}", suggestion)


def _check_keyring(overview: "ProvidersOverview") -> HealthCheck:
    if error := overview.keyring_error:
        return _passed("Keyring", overview.keyring or f"none. {error.message}", error.fix)
    return _passed("Keyring", overview.keyring or "none.")


async def _check_database(context: Invocation) -> HealthCheck:
    """Read the whole database and report damage."""
    report = await context.engine.check_integrity()
    if report.errors:
        return _failed("Database", damage(report).details)
    return _passed("Database", "every page was read; no damage")


async def _check_data(context: Invocation) -> HealthCheck:
    try:
        stats = await context.engine.table_statistics()
    except Problem as problem:
        return _failed("Data", problem.details)
    rows = stats.rows
    size = f"{rows['session']:,} sessions, {rows['event']:,} events, {stats.disk_bytes / 2**20:.1f} MB"
    result = f"{context.data_folder}: {size}"
    if stats.largest:
        largest = stats.largest[0]
        result += f"; the largest is {largest.id} ({largest.events:,} events)"
    return _passed("Data", result)


def _check_qt() -> HealthCheck:
    if importlib.util.find_spec("PySide6") is None:
        return HealthCheck(
            "Window", ok=False, result="PySide6 is not installed.", fix="Run `python3 packaging/dev.py run`."
        )
    try:
        from PySide6.QtCore import qVersion  # imported here, because no other command needs Qt
        from PySide6.QtGui import QGuiApplication  # noqa: F401  # loads the libraries that a window needs
    except ImportError as error:
        return HealthCheck("Window", ok=False, result=str(error), fix="Install the missing system library.")
    return _passed("Window", f"Qt {qVersion()}")
