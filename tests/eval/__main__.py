"""Try a model: python -m tests.eval --model PROVIDER/MODEL [task ...]."""

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from app import places
from core.domain.problems import Problem
from core.settings.file import FILE
from tests.eval.catalogue import TASKS
from tests.eval.work import Outcome, line, summary, work


def main(words: list[str]) -> int:
    """0 when every task was done well."""
    read = argparse.ArgumentParser(prog="dev.py eval", description="Twenty small tasks, each in a folder of its own.")
    read.add_argument(
        "--model", required=True, metavar="P/M", help="as in `journeyman models`; `scripted` tries the checks"
    )
    read.add_argument("--home", metavar="DIR", help="the data folder whose settings name the server (else yours)")
    read.add_argument("--json", action="store_true", help="print one JSON object a task")
    read.add_argument("tasks", nargs="*", metavar="TASK", help=", ".join(task.name for task in TASKS))
    typed = read.parse_args(words)
    names = set(typed.tasks) or {task.name for task in TASKS}
    if strange := sorted(names - {task.name for task in TASKS}):
        read.error(f"there is no task {', '.join(strange)}")
    chosen = [task for task in TASKS if task.name in names]
    found: list[Outcome] = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("JOURNEYMAN_EVAL")) as scratch:
        settings = places.home(typed.home) / FILE
        for task in chosen:
            home = Path(scratch, task.name)
            (home / "data").mkdir(parents=True)
            if settings.is_file():
                shutil.copy(settings, home / "data" / FILE)
            try:
                found.append(asyncio.run(work(home, task, typed.model)))
            except Problem as problem:
                print(problem, file=sys.stderr)
                return 1
            print(json.dumps(asdict(found[-1])) if typed.json else line(found[-1]), flush=True)
    if not typed.json:
        print(summary(found))
    return 0 if all(one.good for one in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
