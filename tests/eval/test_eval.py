"""Each check is met by a good solution, and by no run that only says it is done; the command prints what came of it."""

import asyncio
from pathlib import Path

import pytest

from core.models.catalogue import SCRIPTED
from tests.eval.__main__ import main
from tests.eval.catalogue import TASKS
from tests.eval.task import Task
from tests.eval.work import work


def test_there_are_twenty() -> None:
    assert len({task.name for task in TASKS}) == len(TASKS) == 20


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_check_tells_good_from_bad(task: Task, tmp_path: Path) -> None:
    good = asyncio.run(work(tmp_path / "good", task, SCRIPTED))
    assert (good.good, good.status) == (True, "done"), good
    assert good.rounds == len(task.solution) and bool(good.questions) == bool(task.answer)
    bad = asyncio.run(work(tmp_path / "bad", task, SCRIPTED, ({"text": "Done."},)))
    assert (bad.good, bad.status) == (False, "done"), bad


def test_the_command_says_what_came_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JOURNEYMAN_EVAL", str(tmp_path))
    assert main(["--model", SCRIPTED, "--home", str(tmp_path / "home"), "create", "ask"]) == 0
    said = capsys.readouterr().out
    assert "good  create" in said and "2 of 2 good; 5 rounds" in said and "consents" in said
    assert main(["--model", "nobody/x", "--home", str(tmp_path / "home"), "create"]) == 1
    assert "no provider 'nobody'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--model", SCRIPTED, "nothing"])
