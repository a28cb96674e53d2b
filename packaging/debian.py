"""Builds the Debian package. It contains the files and their dependencies, but no maintainer scripts."""

import gzip
import re
import shutil
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import icons
import manual
from setup_error import SetupError
from system_parts import DEBIAN

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LIBRARY = Path("usr/lib/journeyman")
OF_C = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|util|resolv))\.so\.\d+")
MORE = {"libgcc_s.so.1": "libgcc-s1", "libexpat.so.1": "libexpat1", "libuuid.so.1": "libuuid1"}
MORE |= {"libgomp.so.1": "libgomp1"}
MORE |= {"libwayland-server.so.0": "libwayland-server0", "libxcb-glx.so.0": "libxcb-glx0"}
CONTROL = """\
Package: journeyman
Version: {version}
Architecture: {machine}
Maintainer: Journeyman
Installed-Size: {size}
Depends: {needs}
Recommends: bubblewrap, git, ripgrep
Suggests: gnome-keyring | kwalletmanager
Section: devel
Priority: optional
Description: Run an AI agent in a folder of yours and see every step
 Journeyman runs an agent in a folder of yours, shows every step it takes, and
 asks you when it is unsure. Your data is stored in one folder on this computer;
 there is no account and no telemetry. Commands run in a sandbox if bubblewrap
 is installed.
"""


def build(folder: Path, target: Path, version: str, machine: str) -> Path:
    """Build the package from the program folder. Return its path."""
    tree = target / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(folder, tree / LIBRARY, symlinks=True)
    (tree / "usr" / "bin").mkdir(parents=True)
    (tree / "usr" / "bin" / "journeyman").symlink_to(f"../../{LIBRARY}/journeyman")
    put_shared(tree / "usr" / "share", version)
    place = tree / "usr" / "share" / "doc" / "journeyman"
    place.mkdir(parents=True)
    shutil.copy(ROOT / "LICENSE", place / "copyright")
    with gzip.GzipFile(place / "changelog.gz", "wb", mtime=0) as file:
        file.write((ROOT / "CHANGELOG.md").read_bytes())
    (tree / "DEBIAN").mkdir()
    size = sum(path.lstat().st_size for path in tree.rglob("*") if path.is_file()) // 1024
    needs = ", ".join(packages(tree / LIBRARY))
    control = CONTROL.format(version=version, machine=machine, size=size, needs=needs)
    (tree / "DEBIAN" / "control").write_text(control, encoding="utf-8")
    for path in tree.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    package = target / f"journeyman_{version}_{machine}.deb"
    command = ["dpkg-deb", "--build", "--root-owner-group", "-Zxz", "-z3", str(tree), str(package)]
    if subprocess.call(command, stdout=subprocess.DEVNULL) != 0:
        raise SetupError("The package was not built.", "dpkg-deb failed.", "See its output above.")
    shutil.rmtree(tree)
    return package


def put_shared(share: Path, version: str) -> None:
    """Write the desktop integration files below `share`: menu entry, file type, metadata, icons and manual page."""
    for name, place in (("journeyman.desktop", "applications"), ("journeyman.xml", "mime/packages")):
        (share / place).mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / "share" / name, share / place / name)
    described = (HERE / "share" / "journeyman.metainfo.xml").read_text("utf-8")
    described = described.replace("@VERSION@", version).replace("@DATE@", datetime.now(UTC).strftime("%Y-%m-%d"))
    (share / "metainfo").mkdir()
    (share / "metainfo" / "local.journeyman.journeyman.metainfo.xml").write_text(described, encoding="utf-8")
    icons.pictures(share / "icons")
    (share / "man" / "man1").mkdir(parents=True)
    with gzip.GzipFile(share / "man" / "man1" / "journeyman.1.gz", "wb", mtime=0) as file:
        file.write(manual.page(version).encode())


def packages(folder: Path) -> list[str]:
    """Return the Debian packages of the libraries that the bundle links to but does not contain.

    The first is that of the C library, with the oldest version that suffices.
    """
    binaries = [path for path in folder.rglob("*") if path.is_file() and path.open("rb").read(4) == b"\x7fELF"]
    brought = {path.name for path in folder.rglob("*")}
    wanted = {name for path in binaries for name in linked(path)} - brought
    return [
        f"libc6 (>= {newest_c(binaries)})",
        *sorted(set(named(name for name in wanted if not OF_C.fullmatch(name)))),
    ]


def named(libraries: Iterable[str]) -> list[str]:
    """Return the Debian package of each library, from our tables or from the package database of this system.

    Raise SetupError for libraries whose package is unknown.
    """
    table = DEBIAN | MORE
    found = {name: table.get(name) or owner(name) for name in libraries}
    if unknown := sorted(name for name, package in found.items() if not package):
        message = f"No package is known for {', '.join(unknown)}."
        raise SetupError(message, "The bundle links to it and does not contain it.", "Add it to packaging/debian.py.")
    return list(found.values())


def owner(library: str) -> str:
    """Return the installed Debian package that contains a library, or an empty string."""
    if shutil.which("dpkg") is None:
        return ""
    answer = subprocess.run(["dpkg", "-S", f"*/{library}"], capture_output=True, text=True, check=False)
    owners = {line.partition(":")[0] for line in answer.stdout.splitlines() if not line.startswith("diversion")}
    return min(owners, default="")


def linked(path: Path) -> list[str]:
    """Return the names of the shared libraries that a file links to."""
    answer = subprocess.run(["objdump", "-p", str(path)], capture_output=True, text=True, check=True)
    return [line.split()[1] for line in answer.stdout.splitlines() if line.strip().startswith("NEEDED")]


def newest_c(binaries: Iterable[Path]) -> str:
    """Return the newest version of the C library that any of the files needs."""
    minors = {int(found) for path in binaries for found in re.findall(rb"GLIBC_2\.(\d+)", path.read_bytes())}
    return f"2.{max(minors)}"
