"""The attack cases as an ordinary user, also where root asks: `python -m tests.ordinary [pytest words]`.

Root becomes somebody who has no right at all, in mounts of its own, so that nothing of the machine is changed for it.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.servers.aimock import aimock
from tests.test_cases import carried

KINDS = "PTISKM"
NAME, NUMBER = "ada", 4321
# A home that others may not enter can hold our Python: there only the Python is left. Then the user gets a name.
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
    """The exit code of pytest."""
    files = sorted({str(file) for case, file, _ in carried() if case[0] in KINDS})
    command = [sys.executable, "-m", "pytest", "-rfE", "-p", "no:cacheprovider", *(words or ["-n", "2", *files])]
    if os.geteuid() != 0:
        return subprocess.call(command)
    # Not below a folder of pytest's: those are closed to others. Names of sockets in it may not be long.
    aimock()  # what is fetched once is kept where only root may write
    with tempfile.TemporaryDirectory(prefix="jm-", ignore_cleanup_errors=True) as place:
        return subprocess.call([*_somebody(Path(place)), *command], env=_surroundings(Path(place) / NAME))


def _somebody(base: Path) -> list[str]:
    """The words that start a command as this user."""
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


def _surroundings(home: Path) -> dict[str, str]:
    """A home, a name, and none of root's own settings."""
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "JOURNEYMAN_RACE_S", "CI") if name in os.environ}
    mine = {"HOME": str(home), "USER": NAME, "LOGNAME": NAME, "TMPDIR": str(home.parent / "t"), "SHELL": "/bin/sh"}
    return (
        kept
        | mine
        | {"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", "QT_QPA_PLATFORM": "offscreen"}
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
