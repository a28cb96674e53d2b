"""Virtual environments for large inference servers: installed once, used only if enabled."""

import os
import subprocess
import sys
from pathlib import Path

ENABLED = bool(
    os.environ.get("JOURNEYMAN_SERVERS")
)  # read on import, because tests run without these environment variables
REASON = "large inference servers are used by `python3 packaging/dev.py test --servers`"
KEPT = Path(sys.prefix) / "servers"


def environment(name: str, *requirements: str) -> Path:
    """Return the folder of the environment's programs, creating it if it is missing or incomplete."""
    folder = KEPT / name
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    whole = folder / "whole"
    if not whole.exists():
        run_step([sys.executable, "-m", "venv", "--clear", str(folder)])
        run_step([str(programs / "python"), "-m", "pip", "install", "--quiet", *requirements])
        whole.touch()
    return programs


def run_step(command: list[str]) -> None:
    """Run a step that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stderr[-3000:]}"
