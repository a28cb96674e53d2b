"""Real MCP servers: installed once with npm, each package verified against its hash, then used offline."""

import shutil
import sys
from pathlib import Path

from tests.servers.aimock import NODE, NPM
from tests.servers.real import run_step

LOCK = Path(__file__).with_name("npm")
KEPT = Path(sys.prefix) / "servers" / "tool-servers-2026.8.31"


def program(name: str) -> tuple[str, str]:
    """Return the command that runs the server of this name."""
    if not (KEPT / "whole").exists():
        shutil.rmtree(KEPT, ignore_errors=True)
        shutil.copytree(LOCK, KEPT)
        run_step([str(NODE), str(NPM), "ci", "--prefix", str(KEPT), "--ignore-scripts", "--no-audit", "--no-fund"])
        (KEPT / "whole").touch()
    folder = KEPT / "node_modules" / "@modelcontextprotocol" / f"server-{name}"
    return str(NODE), str(folder / "dist" / "index.js")
