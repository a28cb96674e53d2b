"""Evaluates a model: python -m tests.eval --model PROVIDER/MODEL [TASK ...]."""

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from app.process import data_folder
from core.domain.problems import Problem
from core.settings.settings_file import FILE
from tests.eval.catalogue import TASKS
from tests.eval.task_run import Outcome, format_outcome, run_task, summary


def main(words: list[str]) -> int:
    """Return exit code 0 if every task passed."""
    read = argparse.ArgumentParser(prog="dev.py eval", description="Run twenty small tasks, each in its own folder.")
    read.add_argument(
        "--model",
        required=True,
        metavar="P/M",
        help="a model as listed by `journeyman models`; `scripted` checks the tasks",
    )
    read.add_argument("--data-dir", metavar="DIR", help="the data folder whose settings name the server (else yours)")
    read.add_argument("--json", action="store_true", help="print one JSON object a task")
    read.add_argument("tasks", nargs="*", metavar="TASK", help=", ".join(task.name for task in TASKS))
    typed = read.parse_args(words)
    names = set(typed.tasks) or {task.name for task in TASKS}
    if unknown := sorted(names - {task.name for task in TASKS}):
        read.error(f"unknown task: {', '.join(unknown)}")
    chosen = [task for task in TASKS if task.name in names]
    found: list[Outcome] = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("JOURNEYMAN_EVAL")) as scratch:
        settings = data_folder.data_folder(typed.data_dir) / FILE
        for task in chosen:
            home = Path(scratch, task.name)
            (home / "data").mkdir(parents=True)
            if settings.is_file():
                shutil.copy(settings, home / "data" / FILE)
            try:
                found.append(asyncio.run(run_task(home, task, typed.model)))
            except Problem as problem:
                print(problem, file=sys.stderr)
                return 1
            print(json.dumps(asdict(found[-1])) if typed.json else format_outcome(found[-1]), flush=True)
    if not typed.json:
        print(summary(found))
    return 0 if all(one.passed for one in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
