"""Builds self-contained packages, which need no Python, for the operating system on which it runs.

PyInstaller builds the program folder, which is then packaged. `packaging/dev.py bundle` runs this script with the
Python of the development environment.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import textwrap
from pathlib import Path

import debian
import flatpak
import homebrew
import icons
import macos
import windows
from environment import ROOT
from setup_error import SetupError

from core import __version__

HERE = ROOT / "packaging"
MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64", "AMD64": "amd64"}
FIXED = 1_577_836_800  # modification time of every packaged file (2020-01-01), so that builds are reproducible


def main(words: list[str]) -> int:
    """Build the packages into the folder that `words` names, or into `dist`. Return the exit code."""
    target = Path(words[0] if words else ROOT / "dist").absolute()
    target.mkdir(parents=True, exist_ok=True)
    try:
        made = BUILDERS.get(sys.platform, on_linux)(target)
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    for path in made:
        print(f"{path.stat().st_size / 1e6:6.1f} MB  {path}")
    return 0


def on_linux(target: Path) -> list[Path]:
    """Build a tarball that runs from any folder, a Debian package, and a Flatpak manifest for the tarball."""
    folder = freeze(target)
    name = f"journeyman-{__version__}-linux-{os.uname().machine}"
    tarball = target / f"{name}.tar.xz"
    pack(folder, tarball, name)
    package = debian.build(folder, target, __version__, MACHINES[os.uname().machine])
    manifest = target / f"{flatpak.APP}.json"
    manifest.write_text(flatpak.manifest(tarball), encoding="utf-8")
    return [tarball, package, manifest]


def on_macos(target: Path) -> list[Path]:
    """Build a disk image with the application, and a Homebrew cask for the image."""
    plist = target / "Info.plist"
    plist.write_bytes(macos.info(__version__))
    freeze(target, JOURNEYMAN_PLIST=str(plist), JOURNEYMAN_ICON=str(icons.one_file(target / "journeyman.icns")))
    image = target / f"journeyman-{__version__}-macos-{os.uname().machine}.dmg"
    for command in macos.image_commands(target, image):
        call(command)
    cask = target / "journeyman.rb"
    cask.write_text(homebrew.cask(__version__, image), encoding="utf-8")
    return [image, cask]


def on_windows(target: Path) -> list[Path]:
    """Build an installer with Inno Setup."""
    icon = icons.one_file(target / "journeyman.ico")
    folder = freeze(target, JOURNEYMAN_ICON=str(icon))
    script = target / "journeyman.iss"
    script.write_text(windows.script(__version__, folder, target, icon), encoding="utf-8-sig")
    compiler = shutil.which("iscc")
    if compiler is None:
        raise SetupError(
            "iscc was not found.", "The installer is built by Inno Setup.", "Install it and add it to PATH."
        )
    call([compiler, str(script)])
    return [target / f"{windows.name(__version__)}.exe"]


def freeze(target: Path, **variables: str) -> Path:
    """Build the program folder with PyInstaller and return its path. `variables` are environment variables for it."""
    work = target / "work"
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN"]
    command += ["--distpath", str(target), "--workpath", str(work), str(HERE / "journeyman.spec")]
    # PyInstaller reads the modules without running them, so any display and any data folder will do.
    call(command, {**os.environ, **variables, "PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": str(FIXED)})
    shutil.rmtree(work)
    if sys.platform == "linux":
        for path in (target / "journeyman" / "_internal").rglob("*.so*"):
            if "Qt" not in path.name and not path.is_symlink():  # Qt's libraries are stripped already
                call(["strip", "--strip-unneeded", str(path)])
    return target / "journeyman"


def pack(folder: Path, tarball: Path, name: str) -> None:
    """Pack the program folder, the desktop integration files and a README that explains how to install them."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = FIXED
        return entry

    share = tarball.parent / "share"
    shutil.rmtree(share, ignore_errors=True)
    debian.put_shared(share, __version__)
    needs = [package.partition(" ")[0] for package in debian.packages(folder)]
    listed = textwrap.fill(" ".join(needs), 110, subsequent_indent="    ", break_on_hyphens=False)
    instructions = (HERE / "share" / "install.txt").read_text("utf-8").replace("@NEEDS@", listed)
    readme = tarball.with_name("README")
    readme.write_text(instructions, encoding="utf-8")
    with tarfile.open(tarball, "w:xz", preset=3) as archive:
        archive.add(folder, name, filter=plain)
        archive.add(share, f"{name}/share", filter=plain)
        archive.add(readme, f"{name}/README", filter=plain)
        archive.add(ROOT / "LICENSE", f"{name}/LICENSE", filter=plain)
    shutil.rmtree(share)
    readme.unlink()


def call(command: list[str], environment: dict[str, str] | None = None) -> None:
    """Run a command. Raise SetupError if it fails."""
    if subprocess.call(command, cwd=ROOT, env=environment) != 0:
        raise SetupError("The bundle was not built.", f"{' '.join(command)} failed.", "See its output above.")


BUILDERS = {"darwin": on_macos, "win32": on_windows}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
