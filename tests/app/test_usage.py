"""The command `usage`: as text, as JSON and as CSV."""

import json
from pathlib import Path

import pytest

from app.process.exit_codes import DONE
from tests.app.test_rules import run_command
from tests.core.store.test_usage import fill


def test_usage_is_totaled_and_an_unknown_cost_is_null(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(home, "usage") == DONE
    assert "No usage." in capsys.readouterr().out
    fill(home / "journeyman.db")
    assert run_command(home, "usage", "--by", "model", "--json") == DONE
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["model"], line["cost"], line["unpriced"]) for line in lines] == [
        ("a/big", 0.75, 0),
        ("b/small", None, 1),
    ]
    assert run_command(home, "usage", "--by", "folder") == DONE
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("/tmp/x") and "$0.2500 + unknown" in shown[0] and shown[-1].startswith("all ")
    assert run_command(home, "usage", "--by", "model") == DONE
    assert [line.split()[:3] for line in capsys.readouterr().out.splitlines()] == [
        ["a/big", "2", "replies"],
        ["b/small", "1", "reply"],
        ["all", "3", "replies"],
    ]
    assert run_command(home, "usage", "--csv") == DONE
    assert capsys.readouterr().out.startswith("day,model,folder")
    assert run_command(home, "usage", "--prometheus") == DONE
    metrics = capsys.readouterr().out.splitlines()
    values = dict(line.rsplit(" ", 1) for line in metrics if not line.startswith("#"))
    assert values['journeyman_cost_dollars_total{model="a/big"}'] == "0.75"
    assert 'journeyman_cost_dollars_total{model="b/small"}' not in values, "an unknown cost is not 0"
    assert 'journeyman_tokens_total{model="a/big",kind="input"}' in values
    assert "# TYPE journeyman_replies_total counter" in metrics
    assert run_command(home, "usage", "--days", "3") == DONE
    assert "No usage." in capsys.readouterr().out
    assert run_command(home, "usage", "--days", "999999999", "--csv") == DONE, "as long as there are days"
    assert "a/big" in capsys.readouterr().out
