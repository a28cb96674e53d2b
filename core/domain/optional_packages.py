"""How to install a package of an optional extra."""

import importlib.util
import os
import shlex
import sys

NUMPY, XLLAMACPP = "numpy>=2.2", "xllamacpp>=2026.10"


def how_to_install(*arguments: str) -> str:
    """Return the shell command that installs a package into Journeyman's environment, which may have no pip itself.

    A bundle has no environment; it gets a sentence that says so.
    """
    if getattr(sys, "frozen", False):
        return "not possible in this package of Journeyman; use an installation from its source."
    pip = [sys.executable, "-m", "pip"]
    if importlib.util.find_spec("pip") is None:
        pip = [os.path.realpath(sys.executable), "-m", "pip", "--python", sys.executable]
    return shlex.join([*pip, "install", *arguments])
