"""Renews the hashed requirements from pyproject.toml: one pin per library, hashes of all wheels for all systems."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from environment import REQUIREMENTS, ROOT, SCRIPTS, outer_python
from trouble import Trouble

HEADER = "# Made by `python3 packaging/dev.py lock` from pyproject.toml; not written by hand.\n"
FOREIGN = re.compile(r"^\s*(--(extra-)?(index-url|find-links|trusted-host)|# from )|://", re.MULTILINE)


def renew(words: list[str]) -> int:
    """Write the files; `--upgrade` among the words takes newer versions, otherwise pins stay where they may."""
    with tempfile.TemporaryDirectory() as folder:
        compiler = uv(Path(folder))
        compile_to(REQUIREMENTS["run"], [compiler, *words])
        for group in ("dev", "bundle"):
            same = ["--group", group, "--constraints", str(REQUIREMENTS["run"])]
            compile_to(REQUIREMENTS[group], [compiler, *words], same)
    return 0


def uv(folder: Path) -> str:
    """The one tool that resolves for all systems and Python versions at once, in a place of its own."""
    run([outer_python(), "-m", "venv", str(folder)])
    scripts = folder / SCRIPTS.name
    run([str(scripts / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv"])
    return str(scripts / "uv")


def compile_to(target: Path, command: list[str], more: list[str] | None = None) -> None:
    """Resolve, and write the pins without any word about where they came from."""
    compiler, *words = command
    arguments = ["pip", "compile", "pyproject.toml", *(more or []), *words, "--output-file", str(target)]
    arguments += ["--universal", "--python-version", "3.11", "--generate-hashes", "--only-binary", ":all:"]
    arguments += [
        "--no-config",
        "--no-header",
        "--no-annotate",
        "--no-emit-index-url",
        "--no-emit-find-links",
        "--quiet",
    ]
    run([compiler, *arguments])
    text = target.read_text(encoding="utf-8")
    if FOREIGN.search(text):
        raise Trouble(f"{target.name} names a place on the network.", "The resolver wrote one.", "Take it out.")
    target.write_text(HEADER + text, encoding="utf-8")
    print(f"{target.relative_to(ROOT)}: {text.count('==')} pins, {text.count('--hash=')} hashes")


def run(command: list[str]) -> None:
    """A step that must succeed."""
    if subprocess.call(command, cwd=ROOT) != 0:
        raise Trouble("The requirements could not be renewed.", f"{' '.join(command)} failed.", "See above.")


if __name__ == "__main__":
    sys.exit(renew(sys.argv[1:]))
