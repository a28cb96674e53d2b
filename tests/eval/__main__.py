"""Evaluates a model, and other agents with the same model: python -m tests.eval --model PROVIDER/MODEL [TASK ...]."""

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from app.process.data_folder_name import data_folder_name
from core.domain.problems import Problem
from core.settings.schema import Provider
from core.settings.settings_file import FILE, SettingsFile
from tests.eval.meter import Meter, metered
from tests.eval.other_agents import OTHER_AGENTS
from tests.eval.report import table
from tests.eval.task import Task
from tests.eval.task_run import JOURNEYMAN, Outcome, format_outcome, run_other, run_task
from tests.eval.tasks import GRADES, HELD_OUT, SETS, TUNING

WITH_LESSONS = "with-lessons"  # Journeyman with the lessons of all tasks as memories
AGENTS = (JOURNEYMAN, WITH_LESSONS, *OTHER_AGENTS)
HALVES = {"tuning": TUNING, "held-out": HELD_OUT}  # of the sixty; the other sets have none
PROVIDER = "eval"


def main(words: list[str]) -> int:
    """Return exit code 0 if every task passed."""
    parser = _parser()
    typed = parser.parse_args(words)
    if unknown := sorted(set(typed.tasks) - {task.name for task in SETS[typed.set]}):
        parser.error(f"unknown task: {', '.join(unknown)}")
    if not _chosen(typed):
        parser.error("no task of the set matches")
    if not typed.server and set(typed.agents) & set(OTHER_AGENTS):
        parser.error("other agents need --server")
    found = _read(typed.out) if typed.out else []
    known = {(one.agent, one.name, one.repeat) for one in found}
    with tempfile.TemporaryDirectory(dir=os.environ.get("JOURNEYMAN_EVAL")) as scratch, _server(typed) as (url, meter):
        for repeat in range(typed.repeat):
            for task in _chosen(typed):
                for agent in typed.agents:
                    if (agent, task.name, repeat) in known:
                        continue
                    home = Path(scratch, agent)  # the same for all tasks, so that prompts with its path stay cached
                    try:
                        done = _run(home, task, agent, typed, url, meter, repeat)
                    except Problem as problem:
                        print(problem, file=sys.stderr)
                        return 1
                    finally:
                        shutil.rmtree(home, ignore_errors=True)
                    found.append(done)
                    line = json.dumps(asdict(done))
                    if typed.out:
                        with typed.out.open("a", encoding="utf-8") as file:
                            file.write(line + "\n")
                    print(line if typed.json else format_outcome(done), flush=True)
    if not typed.json:
        print(table(found))
    return 0 if all(one.passed for one in found) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dev.py eval", description="Run small tasks, each in its own folder.")
    model = "a model as listed by `journeyman models`; `scripted` checks the tasks; with --server its name there"
    parser.add_argument("--model", required=True, metavar="P/M", help=model)
    data = "the data folder whose settings name the provider (default: yours)"
    parser.add_argument("--data-dir", metavar="DIR", help=data)
    server = "an OpenAI-compatible server, such as http://127.0.0.1:8080, instead of a provider of the settings"
    parser.add_argument("--server", metavar="URL", help=server)
    agents = f"the agents to compare, at one server (default: {JOURNEYMAN})"
    parser.add_argument("--agents", nargs="+", choices=AGENTS, default=[JOURNEYMAN], metavar="AGENT", help=agents)
    parser.add_argument(
        "--grade", type=int, choices=(1, 2, 3), help="only the tasks of this grade (of the sets grades and fresh)"
    )
    half = "only those of the sixty tasks that are for tuning, or only the others"
    parser.add_argument("--half", choices=tuple(HALVES), help=half)
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run each task N times, with other seeds")
    parser.add_argument("--prompt-size", choices=("full", "compact"), default="", help="as in `journeyman run`")
    minutes = "end a task after so many minutes (default: 60)"
    parser.add_argument("--minutes", type=float, default=60.0, metavar="N", help=minutes)
    out = "add the outcomes to FILE as JSON lines, and skip the tasks whose outcome it has"
    parser.add_argument("--out", type=Path, metavar="FILE", help=out)
    log = "add each request and its reply to FILE as a JSON line (with --server)"
    parser.add_argument("--log", type=Path, metavar="FILE", help=log)
    parser.add_argument("--json", action="store_true", help="print one JSON object a task")
    sets = "the sixty tasks, thirty that nothing is tuned on, tasks with injections, or with lessons (default: grades)"
    parser.add_argument("--set", choices=tuple(SETS), default="grades", help=sets)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="names of tasks; without them all of the set")
    return parser


def _chosen(typed: argparse.Namespace) -> list[Task]:
    return [
        task
        for task in SETS[typed.set]
        if (not typed.tasks or task.name in typed.tasks)
        and (not typed.grade or GRADES.get(task.name) == typed.grade)
        and (not typed.half or task.name in HALVES[typed.half])
    ]


def _read(path: Path) -> list[Outcome]:
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    return [Outcome(**json.loads(line)) for line in lines]


@contextmanager
def _server(typed: argparse.Namespace) -> Iterator[tuple[str, Meter | None]]:
    if not typed.server:
        yield "", None
        return
    with metered(typed.server, typed.log) as (url, meter):
        yield url, meter


def _run(
    home: Path, task: Task, agent: str, typed: argparse.Namespace, url: str, meter: Meter | None, repeat: int
) -> Outcome:
    (home / "data").mkdir(parents=True)
    if meter:
        meter.seed = repeat
    if agent in OTHER_AGENTS:
        assert meter is not None
        return replace(run_other(home, task, agent, url, typed.model, meter, typed.minutes), repeat=repeat)
    model = typed.model
    if meter:
        SettingsFile(home / "data").change(providers=(Provider(name=PROVIDER, url=f"{url}/v1"),))
        model = f"{PROVIDER}/{typed.model}"
    elif (settings := Path(data_folder_name(typed.data_dir)) / FILE).is_file():
        shutil.copy(settings, home / "data" / FILE)
    lessons = [each.lesson for each in SETS[typed.set] if each.lesson] if agent == WITH_LESSONS else []
    done = asyncio.run(
        run_task(home, task, model, meter=meter, prompt_size=typed.prompt_size, minutes=typed.minutes, lessons=lessons)
    )
    return replace(done, agent=agent, repeat=repeat)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
