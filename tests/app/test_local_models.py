"""The commands `models pull`, `models list` and `models rm`."""

import json
import sys
from functools import partial
from pathlib import Path

import pytest

from app.main import main
from app.process.exit_codes import DONE, FAILED
from core.models.local import local_models
from core.models.local.local_models import LocalModels
from core.models.local.model_table import LocalModel
from tests.core.models.local.file_server import FileServer, serving_file
from tests.core.models.local.test_download import CONTENT, model_of
from tests.core.models.local.test_local_models import STAND_IN, TABLE


def run_models(home: Path, *words: str, code: int = DONE) -> None:
    assert main(["--data-dir", str(home), "models", *words]) == code


def test_a_model_is_pulled_listed_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = model_of(CONTENT)
    model = LocalModel(
        row.name, row.title, row.purpose, row.license, row.size, 1, 512, row.sha256,
        ("https://huggingface.co/hub/model.gguf",),
    )  # fmt: skip
    monkeypatch.setattr(local_models, "local_model_table", lambda: {"tiny": model})
    with serving_file(FileServer(CONTENT)) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url.removesuffix("/hub/model.gguf"))
        run_models(tmp_path, "pull", "local/tiny")
    assert "-m local/tiny" in capsys.readouterr().out
    run_models(tmp_path, "list", "--json")
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["origin"] for row in rows if row["kind"] == "local_model"] == ["Journeyman"]
    (provider,) = [row for row in rows if row.get("name") == "local"]
    assert [model["context_window"] for model in provider["models"]] == [512]
    run_models(tmp_path, "rm", "tiny")
    run_models(tmp_path, "list")
    assert "not downloaded: tests" in capsys.readouterr().out
    run_models(tmp_path, "pull", "unknown", code=FAILED)
    assert "Known models: tiny" in capsys.readouterr().err
    assert "xllamacpp" not in sys.modules


def test_a_run_says_from_time_to_time_what_a_slow_model_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    models, work = tmp_path / "home" / "models", tmp_path / "work"
    models.mkdir(parents=True)
    work.mkdir()
    (models / "tiny.gguf").write_text('{"text": "Hello."}')
    monkeypatch.chdir(work)
    monkeypatch.setattr("app.process.services.LocalModels", partial(LocalModels, table=TABLE, script=STAND_IN))
    words = ["--data-dir", str(tmp_path / "home"), "run", "Say hello.", "-m", "local/tiny"]
    for between_s, is_shown in ((0.0, True), (1e9, False)):
        monkeypatch.setattr("app.commands.run_printer.ACTIVITY_S", between_s)
        assert main(words) == DONE
        assert ("Writing the reply" in capsys.readouterr().err) == is_shown
