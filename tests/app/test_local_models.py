"""The commands `models pull`, `models list` and `models rm`."""

import json
import sys
from pathlib import Path

import pytest

from app.main import main
from app.process.exit_codes import DONE, FAILED
from core.models.local import local_models
from core.models.local.model_table import LocalModel
from tests.core.models.local.file_server import FileServer, serving_file
from tests.core.models.local.test_download import CONTENT, model_of


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
