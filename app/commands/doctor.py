"""The command `doctor`: checks the computer and the stored data, and suggests fixes."""

import asyncio
import importlib.util
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.commands.invocation import Invocation
from app.commands.rules import print_decision
from app.commands.trust import describe_trust
from app.process.exit_codes import DONE, FAILED
from app.process.output import plural
from core.engine.services.sandbox_status import SandboxStatus

if TYPE_CHECKING:
    from core.engine.services.providers import ProvidersOverview
    from core.store.tables import DatabaseStats

MIN_FREE_BYTES = 256 << 20  # free disk space below which the check fails


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """The result of one check, as a line of the report."""

    name: str
    ok: bool
    result: str
    fix: str = ""
    suggestion: str = ""  # an improvement to suggest although the check passed


async def doctor(context: Invocation) -> int:
    if context.args.rule is not None:
        return await print_decision(context, context.args.rule, context.folder)
    found = [
        *_look(context),
        check_sandbox(await context.engine.sandbox_status()),
        await _folder(context),
        *_models(await context.engine.providers_overview()),
        *await _servers(context),
        await _semantic_search(context),
        _data(context.data_folder, await context.engine.table_statistics()),
    ]
    for each in found:
        if context.args.json:
            context.out.write_json(asdict(each))
        else:
            context.out.write(f"{'ok  ' if each.ok else 'FAIL'}  {each.name}: {each.result}")
            if each.fix and not each.ok:
                context.out.write(f"      hint: {each.fix}")
            if each.suggestion:
                context.out.write(f"      hint: {each.suggestion}")
    return DONE if all(each.ok for each in found) else FAILED


def check_sandbox(found: SandboxStatus) -> HealthCheck:
    """Report how well the sandbox isolates commands on this computer, according to its self-test."""
    if found.disabled:
        return HealthCheck("Sandbox", False, found.disabled.cause or found.disabled.message, found.disabled.fix)
    if not found.gaps:
        return HealthCheck("Sandbox", True, f"{found.name}, {found.level}")
    known = f"{found.name}, {found.level}; a command can still {'; '.join(found.gaps)}"
    do = "Allow bubblewrap to create user namespaces" if shutil.which("bwrap") else "Install bubblewrap"
    return HealthCheck("Sandbox", True, known, suggestion=f"{do}, so that the sandbox prevents this too.")


async def _folder(context: Invocation) -> HealthCheck:
    """Report whether the project instructions of the current folder are followed."""
    found = await context.engine.folder_trust(context.folder)
    do = "Read them, then follow them with: journeyman trust" if found.needs_decision and found.instructions else ""
    return HealthCheck("Folder", True, f"{found.folder}: {describe_trust(found)}", suggestion=do)


async def _servers(context: Invocation) -> list[HealthCheck]:
    """Start each enabled MCP server, and report whether its tools are still the ones that the user accepted."""
    servers = [row for row in context.engine.mcp_servers.list() if row.enabled]
    looked = await asyncio.gather(*(context.engine.mcp_servers.test(row.name) for row in servers))
    return [
        HealthCheck(
            f"MCP server {look.name}",
            look.error is None,
            f"{look.error.message} {look.error.cause}" if look.error else plural(len(look.tools), "tool"),
            look.error.fix if look.error else "",
            f"Its tools have changed: journeyman mcp test {look.name}" if look.changed else "",
        )
        for look in looked
    ]


async def _semantic_search(context: Invocation) -> HealthCheck:
    """Report whether semantic search of memories is enabled and works."""
    found = await context.engine.memory.semantic_search_status()
    if found.error:
        return HealthCheck("Memory", False, f"{found.error.message} {found.error.cause}", found.error.fix)
    told = f"semantic search: {found.embedded:,} of {found.memories:,} indexed" if found.model else "search by words"
    return HealthCheck("Memory", True, told)


def _look(context: Invocation) -> Iterator[HealthCheck]:
    version = platform.python_version()
    yield HealthCheck("Python", (3, 11) <= sys.version_info[:2] < (3, 15), version, "Use Python 3.11 to 3.14.")
    yield _qt()
    free = shutil.disk_usage(context.data_folder).free
    yield HealthCheck("Disk", free >= MIN_FREE_BYTES, f"{free / 2**30:.1f} GB free", "Free some disk space.")
    book = context.rules.read()
    if book.error:
        yield HealthCheck(
            "Rules", False, f"{book.error.message} {book.error.cause}", "Revoke it: journeyman rules revoke ID"
        )


def _models(found: "ProvidersOverview") -> Iterator[HealthCheck]:
    """Report whether a model is available to start a run, and where API keys are stored."""
    there = [row for row in found.providers if row.models]
    number = sum(len(row.models) for row in there)
    down = [row for row in found.providers if row.added_by == "you" and row.reachable is False and not row.error]
    none = "no provider responds" if down else "no provider is set up"
    what = f"{number:,} from {', '.join(row.name for row in there)}" if there else none
    do = "Start a local server such as Ollama, or set an API key: journeyman models key NAME"
    unset = "" if found.model else "New sessions have no model: journeyman models use PROVIDER/MODEL"
    yield HealthCheck("Models", True, what, suggestion=unset if there else do)
    for row in found.providers:
        if row.error:
            yield HealthCheck(f"Models of {row.name}", False, f"{row.error.message} {row.error.cause}", row.error.fix)
    for row in down:
        do = f"Start it, or remove it: journeyman models remove {row.name}"
        yield HealthCheck(f"Models of {row.name}", False, f"Nothing listens at {row.url}.", do)
    trouble = found.keyring_error
    yield HealthCheck(
        "Keyring",
        True,
        found.keyring or f"none. {trouble.message if trouble else ''}".strip(),
        suggestion=trouble.fix if trouble else "",
    )
    if found.unused_proxy:
        note = f"To use it: journeyman models proxy {found.unused_proxy}"
        yield HealthCheck("Proxy", True, "the environment names one, which is not used", suggestion=note)


def _data(home: Path, found: "DatabaseStats") -> HealthCheck:
    rows = found.rows
    what = f"{home}: {rows['session']:,} sessions, {rows['event']:,} events, {found.disk_bytes / 2**20:.1f} MB"
    if found.largest:
        largest = found.largest[0]
        what += f"; the largest is {largest.id} ({largest.events:,} events)"
    return HealthCheck("Data", True, what)


def _qt() -> HealthCheck:
    if importlib.util.find_spec("PySide6") is None:
        return HealthCheck("Window", False, "PySide6 is not installed.", "Run `python3 packaging/dev.py run`.")
    try:
        from PySide6.QtCore import qVersion  # imported here, because no other command needs Qt
        from PySide6.QtGui import QGuiApplication  # noqa: F401  # loads the libraries that a window needs
    except ImportError as error:
        return HealthCheck("Window", False, str(error), "Install the missing system library.")
    return HealthCheck("Window", True, f"Qt {qVersion()}")
