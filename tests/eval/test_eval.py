"""Each check accepts a good solution and rejects a run that only claims success; the command prints the results."""

import asyncio
from pathlib import Path

import pytest

from core.models.catalog import SCRIPTED
from tests.eval.__main__ import main
from tests.eval.catalogue import TASKS
from tests.eval.task import Task
from tests.eval.task_run import run_task


def test_there_are_twenty_tasks() -> None:
    assert len({task.name for task in TASKS}) == len(TASKS) == 20


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_check_tells_good_from_bad(task: Task, tmp_path: Path) -> None:
    good = asyncio.run(run_task(tmp_path / "good", task, SCRIPTED))
    assert (good.passed, good.status) == (True, "done"), good
    assert good.turns == len(task.solution) and bool(good.questions) == bool(task.answer)
    bad = asyncio.run(run_task(tmp_path / "bad", task, SCRIPTED, ({"text": "Done."},)))
    assert (bad.passed, bad.status) == (False, "done"), bad


def test_the_command_reports_each_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JOURNEYMAN_EVAL", str(tmp_path))
    assert main(["--model", SCRIPTED, "--data-dir", str(tmp_path / "home"), "create", "ask"]) == 0
    said = capsys.readouterr().out
    assert "pass  create" in said and "2 of 2 passed; 5 turns" in said and "permission requests" in said
    assert main(["--model", "nobody/x", "--data-dir", str(tmp_path / "home"), "create"]) == 1
    assert "no provider 'nobody'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--model", SCRIPTED, "nothing"])
