"""The operations on packages: add, show, trust, update and remove."""

import asyncio
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from core.domain.problems import ErrorDetails, Problem
from core.domain.skill import ImportedSkill
from core.engine.services.mcp_servers import McpServerService, McpTestResult
from core.engine.services.package_contents import PackageContents, read_package
from core.mcp.config_import import MAX_NAME_LENGTH, ImportedMcpServer, to_server_name
from core.packages.package_index import (
    MAX_NAME,
    NAME,
    InstalledPackage,
    PackageIndex,
    PackageState,
    delete_folder,
)
from core.packages.package_source import FetchedPackage, fetch_package, is_git_address
from core.skills.skill_md import parse_skill


@dataclass(frozen=True, slots=True)
class PackageOverview:
    """A package and its contents, to show to the user.

    Attributes:
        digest: the digest of the files that are shown. Pass it to `trust`.
        changed: how its files differ from those that the user trusted, as lines such as "changed guard.sh".
        error: why the package cannot be read; None if it can.
    """

    package: InstalledPackage
    state: PackageState
    digest: str = ""
    contents: PackageContents = PackageContents()
    changed: tuple[str, ...] = ()
    error: ErrorDetails | None = None


class PackageUpdate(NamedTuple):
    """A package after its source was fetched again, and whether its files have changed."""

    package: PackageOverview
    has_changed: bool


class PackageService:
    """Manages the installed packages. Nothing of a package is used or run until the user trusts it."""

    def __init__(self, index: PackageIndex, servers: McpServerService) -> None:
        self._index = index
        self._servers = servers

    async def list(self) -> tuple[PackageOverview, ...]:
        """Return all packages by name."""
        return await asyncio.to_thread(lambda: tuple(map(self._overview, self._index.packages())))

    async def show(self, name: str) -> PackageOverview:
        return await asyncio.to_thread(lambda: self._overview(self._index.find(name)))

    async def add(self, source: str, *, ref: str = "", path: str = "", name: str = "") -> PackageOverview:
        """Install a package from a folder or a git address, pinned to its commit and to its files. Run nothing."""
        self._index.refuse_frozen()
        return await asyncio.to_thread(self._add, source.strip(), ref, path, name)

    async def update(self, name: str) -> PackageUpdate:
        """Fetch the source of a package again. Changed files are not used until the user trusts them."""
        return await asyncio.to_thread(self._update, name)

    async def trust(self, name: str, digest: str) -> tuple[McpTestResult, ...]:
        """Trust the files with this digest, which the user has seen, and add the MCP servers of the package.

        Return what the servers reported when they were started. A server that does not start is added all the same.
        """
        overview = await self.show(name)
        if overview.error:
            raise Problem.from_details(overview.error)
        if not digest or overview.digest != digest:
            raise Problem(f"The package {name} has changed since it was shown.", "", "Review it again.")
        files = await asyncio.to_thread(self._index.file_digests, name)
        self._index.put(
            replace(
                overview.package,
                trusted=digest,
                trusted_files=files,
                has_hooks=bool(overview.contents.hooks),
            )
        )
        await self._remove_servers(name)
        return tuple([await self._add_server(name, imported) for imported in overview.contents.servers])

    async def distrust(self, name: str) -> None:
        """Stop using a package, and remove its MCP servers. Its files stay."""
        package = self._index.find(name)
        await self._remove_servers(name)
        self._index.put(replace(package, trusted="", trusted_files={}, has_hooks=False))

    async def remove(self, name: str) -> None:
        """Remove a package, with the MCP servers and everything else that it added to Journeyman."""
        self._index.find(name)
        self._index.refuse_frozen()
        await self._remove_servers(name)
        await asyncio.to_thread(self._index.remove, name)

    def _add(self, source: str, ref: str, path: str, name: str) -> PackageOverview:
        source = source if is_git_address(source) else str(Path(source).expanduser().resolve())
        fetched = fetch_package(source, ref, path)
        name = name or _default_name(path or source)
        if not NAME.fullmatch(name) or len(name) > MAX_NAME:
            rule = f"A name has at most {MAX_NAME} lowercase letters, digits and single hyphens."
            raise Problem(f"{name[:80]!r} is not a valid name of a package.", rule, "Choose one with --name.")
        if any(package.name == name for package in self._index.packages()):
            fix = f"Update it with `journeyman packages update {name}`, or choose another name with --name."
            raise Problem(f"There is already a package {name!r}.", "", fix)
        package = InstalledPackage(name, source, ref, path, fetched.commit)
        overview = self._install(package, fetched)
        if overview.error or overview.contents.is_empty:
            delete_folder(self._index.folder(name))
            if overview.error:
                raise Problem.from_details(overview.error)
            why = "It has no hooks, MCP servers, skills or commands."
            if overview.contents.unused:
                why = f"It has, but they are not used: {'; '.join(overview.contents.unused)}."
            raise Problem("This package brings nothing that Journeyman uses.", why, "Check the address and --path.")
        self._index.put(overview.package)
        return overview

    def _install(self, package: InstalledPackage, fetched: FetchedPackage) -> PackageOverview:
        self._index.write_files(package.name, fetched.files)
        return self._overview(replace(package, commit=fetched.commit))

    def _update(self, name: str) -> PackageUpdate:
        self._index.refuse_frozen()
        package = self._index.find(name)
        fetched = fetch_package(package.source, package.ref, package.path)
        before = self._index.digest(name)
        overview = self._install(package, fetched)
        self._index.put(overview.package)
        return PackageUpdate(overview, has_changed=overview.digest != before)

    def _overview(self, package: InstalledPackage) -> PackageOverview:
        try:
            digest = self._index.digest(package.name)
            state = package.state(digest)
            if state == "missing":
                fix = f"Update it with `journeyman packages update {package.name}`, or remove it."
                raise Problem(f"The files of the package {package.name} are missing or damaged.", "", fix)
            changed = tuple(self._changes(package)) if state == "changed" else ()
            contents = read_package(self._index.folder(package.name))
        except Problem as problem:
            return PackageOverview(package, "missing", error=problem.details)
        return PackageOverview(package, state, digest, contents, changed)

    def _changes(self, package: InstalledPackage) -> Collection[str]:
        before = package.trusted_files
        now = self._index.file_digests(package.name)
        changes = dict.fromkeys(now.keys() - before.keys(), "added")
        changes |= dict.fromkeys(before.keys() - now.keys(), "removed")
        changes |= {path: "changed" for path in before.keys() & now.keys() if before[path] != now[path]}
        return [f"{change} {path}" for path, change in sorted(changes.items())]

    async def _add_server(self, package: str, imported: ImportedMcpServer) -> McpTestResult:
        taken = {server.name for server in self._servers.list()}
        own = imported.server.name
        base = to_server_name(own if own == package else f"{package}-{own}")
        name = base
        number = 1
        while name in taken:
            number += 1
            name = f"{base[: MAX_NAME_LENGTH - 3]}-{number}"
        server = replace(imported.server, name=name, package=package)
        return await self._servers.add(server, imported.secrets, allow_missing_secrets=True)

    async def _remove_servers(self, package: str) -> None:
        for server in self._servers.list():
            if server.package == package:
                await self._servers.remove(server.name)


def skill_description(skill: ImportedSkill) -> str:
    """Return the description from the front matter of a skill; "" if the skill is not valid."""
    parsed = parse_skill(skill.text, skill.files).skill
    return parsed.description if parsed else ""


def _default_name(source: str) -> str:
    """Return a valid package name derived from the last part of a folder path or git address."""
    last = re.split(r"[/:\\]", source.rstrip("/").removesuffix(".git"))[-1]
    return re.sub(r"[^a-z0-9]+", "-", last.casefold()).strip("-")[:MAX_NAME].strip("-") or "package"
