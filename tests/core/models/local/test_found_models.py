"""Models that other programs have stored: real layouts are found, and hostile ones lead nowhere."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from core.models.local.found_models import OLLAMA_MODEL, find_models
from core.models.local.local_models import LocalModelOptions, LocalModels
from core.models.local.model_table import LocalModel
from tests.core.models.local.made_gguf import made_gguf, write_gguf

CONTENT = made_gguf()
DIGEST = hashlib.sha256(CONTENT).hexdigest()


def write_manifest(ollama: Path, name: str, text: str) -> Path:
    path = ollama / "manifests" / "registry.ollama.ai" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def manifest(*digests: object) -> str:
    layers = [{"mediaType": OLLAMA_MODEL, "digest": digest, "size": 1} for digest in digests]
    template = {"mediaType": "application/vnd.ollama.image.template", "digest": f"sha256:{'1' * 64}", "size": 1}
    return json.dumps({"schemaVersion": 2, "config": {}, "layers": [*layers, template]})


def fill_ollama(home: Path) -> Path:
    """Store a model as Ollama does."""
    ollama = home / ".ollama" / "models"
    (ollama / "blobs").mkdir(parents=True)
    (ollama / "blobs" / f"sha256-{DIGEST}").write_bytes(CONTENT)
    write_manifest(ollama, "library/llama3.2/3b", manifest(f"sha256:{DIGEST}"))
    return ollama


def fill_hugging_face(home: Path) -> Path:
    """Store a model as the Hugging Face cache does: a link to a blob that is named by its digest."""
    repository = home / ".cache" / "huggingface" / "hub" / "models--Qwen--Tiny-GGUF"
    (repository / "blobs").mkdir(parents=True)
    (repository / "blobs" / DIGEST).write_bytes(CONTENT)
    link = repository / "snapshots" / "abc" / "tiny.gguf"
    link.parent.mkdir(parents=True)
    link.symlink_to(f"../../blobs/{DIGEST}")
    return repository


def test_the_models_of_three_programs_are_found(tmp_path: Path) -> None:
    ollama = fill_ollama(tmp_path)
    write_manifest(ollama, "someone/mine/latest", manifest(f"sha256:{DIGEST}"))
    fill_hugging_face(tmp_path)
    studio = tmp_path / ".lmstudio" / "models" / "org" / "Tiny-GGUF"
    write_gguf(studio / "tiny-q4.gguf")
    write_gguf(studio / "mmproj-tiny.gguf", general__architecture="clip")
    write_gguf(studio / "embedder.gguf", general__architecture="bert")
    write_gguf(studio / "big-00001-of-00002.gguf")
    write_gguf(studio / "big-00002-of-00002.gguf")
    found = {model.name: model for model in find_models({}, tmp_path)}
    assert set(found) == {
        "ollama/llama3.2:3b", "lmstudio/org/Tiny-GGUF/tiny-q4", "lmstudio/org/Tiny-GGUF/big-00001-of-00002",
        "huggingface/Qwen/Tiny-GGUF/tiny",
    }  # fmt: skip
    assert found["ollama/llama3.2:3b"].sha256 == found["huggingface/Qwen/Tiny-GGUF/tiny"].sha256 == DIGEST
    assert found["lmstudio/org/Tiny-GGUF/big-00001-of-00002"].size == 2 * len(CONTENT)


def test_other_folders_are_named_by_the_environment_and_by_a_pointer(tmp_path: Path) -> None:
    fill_ollama(tmp_path / "o")
    fill_hugging_face(tmp_path / "h")
    write_gguf(tmp_path / "studio" / "models" / "a" / "b" / "c.gguf")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".lmstudio-home-pointer").write_text(f"{tmp_path / 'studio'}\n")
    environment = {
        "OLLAMA_MODELS": str(tmp_path / "o/.ollama/models"),
        "HF_HOME": str(tmp_path / "h/.cache/huggingface"),
    }
    assert sorted(model.origin for model in find_models(environment, home)) == ["Hugging Face", "LM Studio", "Ollama"]


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "null", '{"layers": 5}', '{"layers": [5]}', "[" * 100_000,
        manifest("sha256:../../../../../../etc/passwd"), manifest(5), manifest(f"sha256:{'2' * 64}"),
        manifest(f"sha256:{DIGEST}", f"sha256:{'3' * 64}"),
    ],
)  # fmt: skip
def test_a_hostile_manifest_is_skipped(tmp_path: Path, text: str) -> None:
    ollama = fill_ollama(tmp_path)
    write_manifest(ollama, "library/evil/latest", text)
    assert [model.name for model in find_models({}, tmp_path)] == ["ollama/llama3.2:3b"]


def test_links_that_lead_out_are_not_followed(tmp_path: Path) -> None:
    outside, home = write_gguf(tmp_path / "outside" / "secret.gguf"), tmp_path / "home"
    ollama = home / ".ollama" / "models"
    (ollama / "blobs").mkdir(parents=True)
    (ollama / "blobs" / f"sha256-{DIGEST}").symlink_to(outside)
    write_manifest(ollama, "library/a/latest", manifest(f"sha256:{DIGEST}"))
    (home / ".lmstudio" / "models").mkdir(parents=True)
    (home / ".lmstudio" / "models" / "org").symlink_to(outside.parent)
    (home / ".lmstudio" / "models" / "link.gguf").symlink_to(outside)
    (home / ".lmstudio" / "models" / "loop.gguf").symlink_to(home / ".lmstudio" / "models" / "loop.gguf")
    os.mkfifo(home / ".lmstudio" / "models" / "pipe.gguf")
    snapshot = fill_hugging_face(home) / "snapshots" / "abc"
    (snapshot / "out.gguf").symlink_to(outside)
    assert [model.name for model in find_models({}, home)] == ["huggingface/Qwen/Tiny-GGUF/tiny"]


def test_a_model_of_the_table_that_ollama_has_is_not_downloaded_again(tmp_path: Path) -> None:
    fill_ollama(tmp_path)
    model = LocalModel("tiny", "Tiny", "tests", "MIT", len(CONTENT), 10, 512, DIGEST, ("http://127.0.0.1:1/none",))
    models = LocalModels(
        tmp_path / "models", LocalModelOptions, {}, table={"tiny": model}, find=lambda: find_models({}, tmp_path)
    )
    assert models.window("tiny") == 512
    (row,) = models.rows()
    assert row.origin == "Ollama" and Path(row.path).read_bytes() == CONTENT
    assert models.start_download("tiny") is False
