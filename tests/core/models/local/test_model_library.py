"""The model files on this computer: their names, context windows, memory and measured speeds."""

import asyncio
import struct
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.models.local.gguf_header import read_header
from core.models.local.local_models import LocalModelOptions, LocalModels
from core.models.local.model_library import WORK_BYTES, ModelLibrary
from core.models.local.model_state import ModelSpeed
from core.models.local.model_table import LocalModel
from tests.core.models.local.made_gguf import made_gguf, write_gguf

TABLE = {"tiny": LocalModel("tiny", "Tiny", "tests", "MIT", len(made_gguf()), 10, 1024, "0" * 64, ())}
CACHE_BYTES = 2 * 2 * (16 + 16) * 2  # layers, heads, keys and values, bytes


def library_in(folder: Path, window: int = 0) -> ModelLibrary:
    return ModelLibrary(folder, TABLE, list, lambda: window)


def test_the_header_says_what_a_model_needs(tmp_path: Path) -> None:
    header = read_header(write_gguf(tmp_path / "a.gguf"))
    assert (header.architecture, header.name, header.context_length) == ("llama", "Tiny", 2048)
    assert header.cache_bytes == CACHE_BYTES


@pytest.mark.parametrize("content", [b"", b"GGUF", b"no model", made_gguf()[:60], b"GGUF" + b"\xff" * 60])
def test_a_damaged_header_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(content)
    with pytest.raises(Problem, match="not a model file"):
        read_header(path)


def test_the_window_is_that_of_the_table_unless_the_user_sets_one(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "tiny.gguf")
    file = library_in(tmp_path).file("tiny")
    assert (file.window, file.memory) == (1024, path.stat().st_size + 1024 * CACHE_BYTES + WORK_BYTES)
    assert library_in(tmp_path, 512).file("tiny").window == 512
    assert library_in(tmp_path, 10**6).file("tiny").window == 2048, "the model was not trained with more"


def test_the_window_of_another_file_fits_in_the_memory(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "wide.gguf", llama__context_length=10**6, llama__embedding_length=2**24)
    assert library_in(tmp_path).file(str(path)).window == 4096
    path = write_gguf(tmp_path / "small.gguf", llama__context_length=10**6)
    assert library_in(tmp_path).file(str(path)).window == 32_768


def test_a_file_of_the_user_is_added_by_name_and_stays_where_it_is(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "mine" / "tiny.gguf")
    models = LocalModels(tmp_path / "models", LocalModelOptions, {}, table=TABLE)
    assert models.add_file(path) == models.add_file(path) == "tiny-2", "the table has a model of this name"
    assert [(row.name, row.origin, row.path) for row in models.rows()[1:]] == [("tiny-2", "you", str(path))]
    assert models.window("tiny-2") == 2048
    assert asyncio.run(models.remove("tiny-2")) and path.exists() and len(models.rows()) == 1
    with pytest.raises(Problem, match="does not chat"):
        models.add_file(write_gguf(tmp_path / "bert.gguf", general__architecture="bert"))


def test_a_measured_speed_is_kept(tmp_path: Path) -> None:
    models = LocalModels(tmp_path, LocalModelOptions, {}, table=TABLE)
    models.record_speed("tiny", ModelSpeed(60.0, 20.0))
    models.record_speed("tiny", ModelSpeed(0.0, 21.0))
    again = LocalModels(tmp_path, LocalModelOptions, {}, table=TABLE)
    assert again.rows()[0].speed == ModelSpeed(60.0, 21.0)
    (tmp_path / "speeds.json").write_text("[[")
    assert LocalModels(tmp_path, LocalModelOptions, {}, table=TABLE).rows()[0].speed == ModelSpeed()


def test_a_header_that_claims_very_many_strings_is_refused_at_once(tmp_path: Path) -> None:
    """Empty strings of a sparse file: they take no space, but reading them would take minutes."""
    path = tmp_path / "evil.gguf"
    with path.open("wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, 4096))
        for number in range(12):
            name = b"k%d" % number
            file.write(struct.pack("<Q", len(name)) + name + struct.pack("<IIQ", 9, 8, 1 << 24))
            file.seek(8 << 24, 1)
        file.truncate(file.tell() + 8)
    with pytest.raises(Problem, match="too long"):
        read_header(path)
