"""Runs the attack cases as an unprivileged user, even when started by root: `python -m tests.unprivileged [ARG ...]`.

Root switches to a user without any privileges, in a private mount namespace, so that the machine is not changed.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.servers.aimock import aimock
from tests.test_cases import covered_cases

CASE_KINDS = "PTISKM"
NAME, NUMBER = "ada", 4321
# Our Python may be in a home folder that other users cannot enter: hide everything there but the Python.
# Then give the user a name in a private /etc/passwd.
MOUNTS = """
set -e
base=$1 prefix=$2 shut=$3; shift 3
if [ "$shut" ]; then
    mkdir "$base/prefix"; mount --bind "$prefix" "$base/prefix"
    mount -t tmpfs -o mode=755 none "$shut"
    mkdir -p "$prefix"; mount --bind "$base/prefix" "$prefix"
fi
mount --bind "$base/passwd" /etc/passwd
exec "$@"
"""


def main(words: list[str]) -> int:
    """Run pytest and return its exit code."""
    files = sorted({str(file) for case, file, _ in covered_cases() if case[0] in CASE_KINDS})
    command = [sys.executable, "-m", "pytest", "-rfE", "-p", "no:cacheprovider", *(words or ["-n", "2", *files])]
    if os.geteuid() != 0:
        return subprocess.call(command)
    # Not below pytest's temporary folder, which other users cannot enter. Socket paths in it must be short.
    aimock()  # download it now: the cache is writable only by root
    with tempfile.TemporaryDirectory(prefix="jm-", ignore_cleanup_errors=True) as place:
        return subprocess.call([*_as_unprivileged_user(Path(place)), *command], env=_environment(Path(place) / NAME))


def _as_unprivileged_user(base: Path) -> list[str]:
    """Create the user's folders and return the command prefix that starts a command as this user."""
    base.chmod(0o755)
    home = base / NAME
    for folder in (home, base / "t"):
        folder.mkdir()
        os.chown(folder, NUMBER, NUMBER)
    line = f"{NAME}:x:{NUMBER}:{NUMBER}::{home}:/bin/sh\n"
    (base / "passwd").write_text(Path("/etc/passwd").read_text(encoding="utf-8") + line, encoding="utf-8")
    prefix = Path(sys.base_prefix).resolve()
    shut = next((str(part) for part in reversed(prefix.parents) if not part.stat().st_mode & 0o001), "")
    drop = [f"--reuid={NUMBER}", f"--regid={NUMBER}", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
    return ["unshare", "--mount", "sh", "-c", MOUNTS, "sh", str(base), str(prefix), shut, "setpriv", *drop]


def _environment(home: Path) -> dict[str, str]:
    """Return an environment with the user's home and name and without root's settings."""
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "JOURNEYMAN_RACE_S", "CI") if name in os.environ}
    mine = {"HOME": str(home), "USER": NAME, "LOGNAME": NAME, "TMPDIR": str(home.parent / "t"), "SHELL": "/bin/sh"}
    return (
        kept
        | mine
        | {"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", "QT_QPA_PLATFORM": "offscreen"}
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
