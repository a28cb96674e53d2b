"""Commands that install the package of an optional extra."""

import importlib.util
import os
import shlex
import sys

NUMPY = "numpy>=2.2"
XLLAMACPP = "xllamacpp>=2026.10"


def install_command(*arguments: str, python: str = sys.executable) -> tuple[str, ...]:
    """Return the command that installs packages into the environment of `python`, even if it has no pip itself.

    A bundled application has no environment: the command is empty.
    """
    if getattr(sys, "frozen", False):
        return ()
    pip = [sys.executable, "-m", "pip"]
    if python != sys.executable or importlib.util.find_spec("pip") is None:
        pip = [os.path.realpath(sys.executable), "-m", "pip", "--python", python]
    return (*pip, "install", *arguments)


def how_to_install(*arguments: str) -> str:
    """Return the shell command that installs a package into Journeyman's environment, or a sentence for a bundle."""
    if command := install_command(*arguments):
        return shlex.join(command)
    return "not possible in this package of Journeyman; use an installation from its source."
