"""Downloads of local models, from loopback servers with the faults of real ones."""

import asyncio
import hashlib
import re
import sys
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.models.local.download import download, part_path
from core.models.local.model_table import LocalModel, local_model_table
from tests.core.models.local.file_server import FileServer, serving_file

CONTENT = bytes(range(256)) * 4096
CUT = len(CONTENT) * 99 // 100


def model_of(content: bytes, size: int = 0) -> LocalModel:
    sha256 = hashlib.sha256(content).hexdigest()
    return LocalModel("tiny", "Tiny", "tests", "MIT", size or len(content), 1, 512, sha256, ())


def run_download(target: Path, *addresses: str, model: LocalModel | None = None, proxy: str = "") -> list[int]:
    """Download CONTENT, and return the sizes that were reported."""
    reported: list[int] = []
    job = download(model or model_of(CONTENT), target, addresses, proxy, lambda done, _: reported.append(done))
    asyncio.run(job)
    return reported


def test_each_model_of_the_table_is_complete() -> None:
    for model in local_model_table().values():
        assert re.fullmatch(r"[0-9a-f]{64}", model.sha256) and model.license and model.window
        assert model.memory > model.size > 10**9
        assert len(model.addresses) >= 2 and all(address.startswith("https://") for address in model.addresses)


def test_a_download_follows_redirects_and_is_visible_only_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "models" / "tiny.gguf"
    with serving_file(FileServer(CONTENT)) as cdn, serving_file(FileServer(b"", redirect=cdn.url)) as hub:
        reported = run_download(target, hub.url)
    assert target.read_bytes() == CONTENT and not part_path(target).exists()
    assert reported == sorted(reported) and reported[-1] == len(CONTENT)


def test_a_connection_cut_at_99_percent_is_resumed(tmp_path: Path) -> None:
    target = tmp_path / "tiny.gguf"
    with serving_file(FileServer(CONTENT, cut_after=CUT)) as server:
        run_download(target, server.url)
        assert server.requested == ["", f"bytes={CUT}-"]
    assert target.read_bytes() == CONTENT


def test_an_interrupted_download_continues_after_a_restart(tmp_path: Path) -> None:
    target = tmp_path / "tiny.gguf"
    part_path(target).write_bytes(CONTENT[:CUT])
    with serving_file(FileServer(CONTENT)) as server:
        assert run_download(target, server.url)[0] > CUT
        assert server.requested == [f"bytes={CUT}-"]
    assert target.read_bytes() == CONTENT


def test_a_server_that_ignores_the_range_starts_over(tmp_path: Path) -> None:
    target = tmp_path / "tiny.gguf"
    part_path(target).write_bytes(CONTENT[:CUT])
    with serving_file(FileServer(CONTENT, ranges=False)) as server:
        run_download(target, server.url)
    assert target.read_bytes() == CONTENT


def test_a_file_with_another_hash_is_deleted_and_the_next_address_is_tried(tmp_path: Path) -> None:
    target = tmp_path / "tiny.gguf"
    damaged = CONTENT[:-1] + b"x"
    with serving_file(FileServer(damaged)) as bad, serving_file(FileServer(CONTENT)) as good:
        with pytest.raises(Problem, match="instead of"):
            run_download(target, bad.url)
        assert not target.exists() and not part_path(target).exists()
        run_download(target, bad.url, good.url)
    assert target.read_bytes() == CONTENT


def test_without_a_network_the_addresses_are_named_and_the_part_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "tiny.gguf"
    part_path(target).write_bytes(CONTENT[:CUT])
    with serving_file(FileServer(CONTENT)) as server:
        gone = server.url
    with serving_file(FileServer(CONTENT + b"more")) as other, pytest.raises(Problem) as caught:
        run_download(target, gone, other.url)
    assert gone in str(caught.value) and "bytes instead of" in str(caught.value)
    assert part_path(target).read_bytes() == CONTENT[:CUT]


def test_a_download_goes_through_the_proxy(tmp_path: Path) -> None:
    target = tmp_path / "tiny.gguf"
    with serving_file(FileServer(CONTENT)) as proxy:
        run_download(target, "http://hub.example/model.gguf", proxy=proxy.url.removesuffix("/hub/model.gguf"))
        assert proxy.requested == [""]
    assert target.read_bytes() == CONTENT


def test_free_space_is_checked_before_the_first_request(tmp_path: Path) -> None:
    with serving_file(FileServer(CONTENT)) as server:
        with pytest.raises(Problem, match="not enough disk space"):
            run_download(tmp_path / "tiny.gguf", server.url, model=model_of(CONTENT, size=10**16))
        assert server.requested == []


def test_a_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    with pytest.raises(Problem, match="cannot be saved"):
        run_download(tmp_path / "models" / "tiny.gguf", "http://127.0.0.1:1/none")


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full exists only on Linux")
def test_a_disk_that_fills_up_is_reported(tmp_path: Path) -> None:
    target = tmp_path / "tiny.gguf"
    part_path(target).symlink_to("/dev/full")
    with serving_file(FileServer(CONTENT)) as server, pytest.raises(Problem, match="The disk is full"):
        run_download(target, server.url)
    assert not target.exists()
