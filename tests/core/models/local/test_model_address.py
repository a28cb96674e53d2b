"""Models that the user downloads from an address: looked up, downloaded, kept over a restart, and deleted."""

import asyncio
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.models.local.local_models import LocalModelOptions, LocalModels
from tests.core.models.local.file_server import FileServer, serving_file
from tests.core.models.local.made_gguf import made_gguf
from tests.core.models.local.test_model_library import TABLE

CONTENT = made_gguf() + bytes(50_000)
BOUND_S = 30.0


def models_in(folder: Path, **environment: str) -> LocalModels:
    return LocalModels(folder, LocalModelOptions, environment, table=TABLE)


async def pull(models: LocalModels, address: str) -> str:
    name = await models.add_address(address)
    models.start_download(name)
    await models.wait_for_download(name, BOUND_S)
    return name


def test_a_model_is_downloaded_from_an_address_and_can_be_deleted(tmp_path: Path) -> None:
    with serving_file(FileServer(CONTENT)) as server:
        address = f"{server.url}/../Tiny%20Model.GGUF?download=true"
        assert asyncio.run(pull(models_in(tmp_path), address)) == "tiny-model"
        assert asyncio.run(pull(models_in(tmp_path), address)) == "tiny-model", "it is there already"
    models = models_in(tmp_path)
    row = models.rows()[-1]
    assert (row.name, row.origin, row.size, row.is_available) == ("tiny-model", "Journeyman", len(CONTENT), True)
    assert asyncio.run(models.remove("tiny-model")) and list(tmp_path.iterdir()) == []
    assert [row.name for row in models.rows()] == ["tiny"]


def test_a_second_file_of_the_same_name_gets_a_number(tmp_path: Path) -> None:
    with serving_file(FileServer(CONTENT)) as server:
        models = models_in(tmp_path)
        names = [asyncio.run(pull(models, f"{server.url}/{folder}/tiny.gguf")) for folder in "ab"]
    assert names == ["tiny-2", "tiny-3"]


def test_an_interrupted_download_continues_after_a_restart_or_is_forgotten(tmp_path: Path) -> None:
    async def interrupt(models: LocalModels, address: str) -> None:
        name = await models.add_address(address)
        models.start_download(name)
        while not models.rows()[-1].partial:  # noqa: ASYNC110 - received in the background
            await asyncio.sleep(0.02)
        await models.close()

    with serving_file(FileServer(CONTENT, hold_at=30_000)) as server:
        asyncio.run(interrupt(models_in(tmp_path), f"{server.url}/a.gguf"))
        server.release.set()
        models = models_in(tmp_path)
        assert (models.rows()[-1].name, models.rows()[-1].partial > 0) == ("a", True)
        asyncio.run(pull(models, f"{server.url}/a.gguf"))
        assert (tmp_path / "a.gguf").read_bytes() == CONTENT
        server.release.clear()
        asyncio.run(interrupt(models, f"{server.url}/b.gguf"))
        asyncio.run(models.cancel_download("b"))
        assert [row.name for row in models.rows()] == ["tiny", "a"]
        server.release.set()


@pytest.mark.parametrize(
    ("content", "path", "cause"),
    [
        (b"<html>", "/a.gguf", "not a file in the GGUF format"),
        (b"", "/a.gguf", "not a file in the GGUF format"),
        (CONTENT, "", "over HTTPS only"),
    ],
)
def test_an_address_without_a_model_is_refused(tmp_path: Path, content: bytes, path: str, cause: str) -> None:
    with serving_file(FileServer(content)) as server, pytest.raises(Problem, match=cause):
        address = f"{server.url}{path}" if path else "http://models.example/a.gguf"
        asyncio.run(models_in(tmp_path).add_address(address))
    assert list(tmp_path.iterdir()) == []


def test_the_page_of_a_file_on_the_hub_leads_to_the_file_on_the_mirror(tmp_path: Path) -> None:
    with serving_file(FileServer(CONTENT)) as server:
        models = models_in(tmp_path, HF_ENDPOINT=server.url)
        page = "https://huggingface.co/maker/model/blob/main/Small.gguf"
        assert [asyncio.run(models.add_address(page)) for _ in range(2)] == ["small", "small"]
    (address,) = models._library.table["small"].addresses
    assert address.endswith("/maker/model/resolve/main/Small.gguf")
