"""Makes what people install without a Python, for the system it runs on: the folder first, then what wraps it.

Called by `packaging/dev.py bundle`, with the Python of the environment.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import textwrap
from pathlib import Path

import debian
import icons
import macos
import windows
from environment import ROOT
from trouble import Trouble

from core import __version__

HERE = ROOT / "packaging"
MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64", "AMD64": "amd64"}
FIXED = 1_577_836_800  # a date for every file: the same source makes the same archive


def main(words: list[str]) -> int:
    """Into the folder that is named, else into `dist`."""
    target = Path(words[0] if words else ROOT / "dist").absolute()
    target.mkdir(parents=True, exist_ok=True)
    try:
        made = WAYS.get(sys.platform, on_linux)(target)
    except Trouble as trouble:
        print(trouble, file=sys.stderr)
        return 1
    for path in made:
        print(f"{path.stat().st_size / 1e6:6.1f} MB  {path}")
    return 0


def on_linux(target: Path) -> list[Path]:
    """A tarball to unpack anywhere, and a package for Debian and its kin."""
    folder = freeze(target)
    name = f"journeyman-{__version__}-linux-{os.uname().machine}"
    tarball = target / f"{name}.tar.xz"
    pack(folder, tarball, name)
    package = debian.build(folder, target, __version__, MACHINES[os.uname().machine])
    return [tarball, package]


def on_macos(target: Path) -> list[Path]:
    """An image with the application in it."""
    plist = target / "Info.plist"
    plist.write_bytes(macos.info(__version__))
    freeze(target, JOURNEYMAN_PLIST=str(plist), JOURNEYMAN_ICON=str(icons.one_file(target / "journeyman.icns")))
    image = target / f"journeyman-{__version__}-macos-{os.uname().machine}.dmg"
    for command in macos.image_commands(target, image):
        call(command)
    return [image]


def on_windows(target: Path) -> list[Path]:
    """A set-up program, made by Inno Setup."""
    icon = icons.one_file(target / "journeyman.ico")
    folder = freeze(target, JOURNEYMAN_ICON=str(icon))
    script = target / "journeyman.iss"
    script.write_text(windows.script(__version__, folder, target, icon), encoding="utf-8-sig")
    compiler = shutil.which("iscc")
    if compiler is None:
        raise Trouble("There is no iscc.", "Inno Setup makes the set-up program.", "Install it and put it on the path.")
    call([compiler, str(script)])
    return [target / f"{windows.name(__version__)}.exe"]


def freeze(target: Path, **told: str) -> Path:
    """The folder that starts by itself."""
    work = target / "work"
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN"]
    command += ["--distpath", str(target), "--workpath", str(work), str(HERE / "journeyman.spec")]
    # The modules are read, not run; a display or a data folder of the builder has no say.
    call(command, {**os.environ, **told, "PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": str(FIXED)})
    shutil.rmtree(work)
    if sys.platform == "linux":
        for path in (target / "journeyman" / "_internal").rglob("*.so*"):
            if "Qt" not in path.name and not path.is_symlink():  # Qt's are stripped as they come
                call(["strip", "--strip-unneeded", str(path)])
    return target / "journeyman"


def pack(folder: Path, tarball: Path, name: str) -> None:
    """With the files a desktop asks for beside the program, and how to put them in their places."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = FIXED
        return entry

    share = tarball.parent / "share"
    shutil.rmtree(share, ignore_errors=True)
    debian.put_shared(share, __version__)
    needs = [package.partition(" ")[0] for package in debian.packages(folder)]
    words = textwrap.fill(" ".join(needs), 110, subsequent_indent="    ", break_on_hyphens=False)
    told = (HERE / "share" / "install.txt").read_text("utf-8").replace("@NEEDS@", words)
    readme = tarball.with_name("README")
    readme.write_text(told, encoding="utf-8")
    with tarfile.open(tarball, "w:xz", preset=3) as archive:
        archive.add(folder, name, filter=plain)
        archive.add(share, f"{name}/share", filter=plain)
        archive.add(readme, f"{name}/README", filter=plain)
        archive.add(ROOT / "LICENSE", f"{name}/LICENSE", filter=plain)
    shutil.rmtree(share)
    readme.unlink()


def call(command: list[str], environment: dict[str, str] | None = None) -> None:
    """A step that must succeed."""
    if subprocess.call(command, cwd=ROOT, env=environment) != 0:
        raise Trouble("The bundle was not made.", f"{' '.join(command)} failed.", "Its own words stand above.")


WAYS = {"darwin": on_macos, "win32": on_windows}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
