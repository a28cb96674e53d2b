"""Finds system libraries of Qt and programs for tests that are missing, and installs them or says how to."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from setup_error import SetupError

PARTS = (
    "QtCore.abi3.so",
    "QtGui.abi3.so",
    "QtWidgets.abi3.so",
    "QtNetwork.abi3.so",
    "QtSvg.abi3.so",
    "QtDBus.abi3.so",
    "Qt/plugins/platforms/libqoffscreen.so",
    "Qt/plugins/platforms/libqxcb.so",
    "Qt/plugins/platforms/libqwayland.so",
)
DEBIAN = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libGLX.so.0": "libgl1",
    "libOpenGL.so.0": "libopengl0",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libX11.so.6": "libx11-6",
    "libbrotlicommon.so.1": "libbrotli1",
    "libbrotlidec.so.1": "libbrotli1",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgssapi_krb5.so.2": "libgssapi-krb5-2",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libstdc++.so.6": "libstdc++6",
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxcb.so.1": "libxcb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libz.so.1": "zlib1g",
    "libzstd.so.1": "libzstd1",
}
PROGRAMS = {  # the Debian package of each program that tests start
    "Xvfb": "xvfb",
    "xauth": "xauth",
    "openbox": "openbox",
    "xdotool": "xdotool",
    "xprop": "x11-utils",
    "dbus-daemon": "dbus",
    "at-spi-bus-launcher": "at-spi2-core",
    "strace": "strace",
    "bwrap": "bubblewrap",
    "git": "git",
    "curl": "curl",
    "rg": "ripgrep",
}

UNLISTED = ("/usr/libexec", "/usr/lib/at-spi2-core")  # folders with programs that are not on PATH


def parts_ready(qt: Path | None, programs: bool) -> None:
    """Make sure that the libraries that Qt links to are installed and, with `programs`, those that tests start."""

    def search() -> list[str]:
        return (missing_libraries(qt) if qt else []) + (missing_programs() if programs else [])

    provide(search, DEBIAN | PROGRAMS)


def missing_libraries(qt: Path) -> list[str]:
    """Return the libraries that Qt links to but that the dynamic loader does not find."""
    if not sys.platform.startswith("linux") or shutil.which("ldd") is None:
        return []
    lost: set[str] = set()
    for part in PARTS:
        if (qt / part).exists():
            answer = subprocess.run(["ldd", str(qt / part)], capture_output=True, text=True, check=False)
            lost.update(unfound(answer.stdout))
    return sorted(lost)


def unfound(ldd: str) -> list[str]:
    """Return the libraries that the output of `ldd` reports as not found."""
    return [line.split()[0] for line in ldd.splitlines() if line.rstrip().endswith("not found")]


def missing_programs() -> list[str]:
    """Return the programs that tests start but that are not installed."""
    if not sys.platform.startswith("linux"):
        return []
    places = os.pathsep.join((os.environ.get("PATH", os.defpath), *UNLISTED))
    return [name for name in PROGRAMS if shutil.which(name, path=places) is None]


def provide(search: Callable[[], list[str]], table: dict[str, str]) -> None:
    """Install what `search` finds missing, if this user may. Otherwise raise SetupError with the command that does."""
    missing = search()
    if (names := packages(missing, table)) and may_install():
        apt_install(names)
        missing = search()  # a dependency of an installed package may have been a library that the table does not list
    if missing:
        message = f"System libraries or programs are missing: {', '.join(missing)}."
        cause = "Qt needs the libraries, the tests need the programs, and only an administrator can install them."
        raise SetupError(message, cause, advice(missing, table))


def may_install() -> bool:
    """Return whether this process may install packages: it runs as root, and there is apt-get."""
    return shutil.which("apt-get") is not None and os.geteuid() == 0


def packages(missing: list[str], table: dict[str, str]) -> list[str]:
    """Return the Debian packages that contain the missing libraries or programs, as far as the table lists them."""
    return sorted({table[name] for name in missing if name in table})


def advice(missing: list[str], table: dict[str, str]) -> str:
    """Return the command that installs what is missing, or the names of packages to look for."""
    known = " ".join(packages(missing, table))
    unknown = " ".join(name for name in missing if name not in table)
    parts = []
    if known and shutil.which("apt-get"):
        parts.append(f"sudo apt-get install --no-install-recommends {known}")
    elif known:
        parts.append(f"Install the packages that Debian calls {known}")
    if unknown:
        parts.append(f"Install the packages that contain {unknown}")
    return "\n       ".join([*parts, "Then run the same command again."])


def apt_install(names: list[str]) -> None:
    """Install Debian packages as root, without prompts. The output of apt-get is printed only if it fails."""
    print(f"Installing system packages: {' '.join(names)} ...", flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "-y", "--no-install-recommends", *names]):
        command = ["apt-get", "-qq", "-o", "Dpkg::Use-Pty=0", *words]
        done = subprocess.run(
            command, env=quiet, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        if done.returncode != 0:
            print(done.stdout.decode("utf-8", "replace").rstrip(), file=sys.stderr)
            message, hint = "System packages could not be installed.", "Fix the problem and run the same command again."
            raise SetupError(message, f"{' '.join(command)} failed; see its output above.", hint)
