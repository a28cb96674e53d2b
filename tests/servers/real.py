"""Large model servers in environments of their own, beside ours: installed once, used only when they are asked for."""

import os
import subprocess
import sys
from pathlib import Path

ASKED_FOR = bool(os.environ.get("JOURNEYMAN_SERVERS"))  # read early: tests run without such words in their surroundings
REASON = "large model servers are used by `python3 packaging/dev.py test --servers`"
KEPT = Path(sys.prefix) / "servers"


def environment(name: str, *requirements: str) -> Path:
    """The folder of its programs; what was left half-made is made again."""
    folder = KEPT / name
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    whole = folder / "whole"
    if not whole.exists():
        ran([sys.executable, "-m", "venv", "--clear", str(folder)])
        ran([str(programs / "python"), "-m", "pip", "install", "--quiet", *requirements])
        whole.touch()
    return programs


def ran(command: list[str]) -> None:
    """Run a step that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stderr[-3000:]}"
