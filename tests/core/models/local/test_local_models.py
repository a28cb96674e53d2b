"""The processes that serve local models: started when needed, shared, unloaded when idle, and never left over."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from core.domain.events import RequestRetried, RunEnded, RunStarted
from core.domain.messages import Message
from core.domain.text import Text
from core.models.catalog import ModelCatalog
from core.models.local.local_models import LocalModelOptions, LocalModels
from core.models.local.model_table import LocalModel
from core.models.model import ModelError, Request
from core.settings.api_keys import ApiKeys
from core.settings.schema import Settings
from tests.core.engine.harness import open_engine, run_bounded

STAND_IN = Path(__file__).with_name("stand_in.py")
TABLE = {
    name: LocalModel(name, name, "tests", "MIT", 10, memory, 4096, "", ())
    for name, memory in (("tiny", 10), ("other", 10), ("huge", 10**15))
}


def run_with_models(
    folder: Path, job: Callable[[LocalModels], Awaitable[None]], *, idle_s: float = 600, **contents: object
) -> None:
    """Run a job with models whose files contain `contents`, and end their processes."""
    for name in TABLE:
        (folder / f"{name}.gguf").write_text(json.dumps(contents or {"text": "Hello."}))
    models = LocalModels(folder, lambda: LocalModelOptions(idle_s=idle_s), {}, table=TABLE, script=STAND_IN)

    async def run() -> None:
        try:
            await job(models)
        finally:
            await models.close()

    asyncio.run(run())


async def ask(models: LocalModels, name: str = "tiny") -> str:
    """Return the reply of a model to one request."""
    catalog = ModelCatalog(Settings, ApiKeys({}), {}, local_models=models)
    request = Request([Message("user", Text("Hello?"))])
    return "".join([delta.text async for delta in catalog.model(f"local/{name}").stream(request)])


async def pid_of(models: LocalModels, name: str = "tiny") -> int:
    async with models.serving(name):
        process = models._servers[name].process
        assert process is not None
        return process.pid


def is_alive(pid: int) -> bool:
    """Return whether a process runs; one that waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def until_ended(pid: int) -> None:
    async with asyncio.timeout(30):
        while is_alive(pid):  # noqa: ASYNC110 - the process is not a child
            await asyncio.sleep(0.02)


def test_a_process_serves_several_requests_and_another_model_replaces_it(tmp_path: Path) -> None:
    async def job(models: LocalModels) -> None:
        assert [await ask(models), await ask(models)] == ["Hello.", "Hello."]
        pid = await pid_of(models)
        assert await pid_of(models) == pid
        await pid_of(models, "other")
        assert not is_alive(pid)

    run_with_models(tmp_path, job)


def test_a_reply_begins_with_what_the_model_does_before(tmp_path: Path) -> None:
    async def job(models: LocalModels) -> None:
        catalog = ModelCatalog(Settings, ApiKeys({}), {}, local_models=models)
        request = Request([Message("user", Text("Hello?"))])
        for loads in (True, False):
            deltas = [delta async for delta in catalog.model("local/tiny").stream(request)]
            activities = [delta.activity for delta in deltas if delta.activity]
            assert ("loading the model" in activities) == loads and activities[-1] == "writing the reply"
            assert "".join(delta.text for delta in deltas) == "Hello."

    run_with_models(tmp_path, job)


def test_an_idle_model_is_unloaded_and_loaded_again(tmp_path: Path) -> None:
    async def job(models: LocalModels) -> None:
        pid = await pid_of(models)
        await until_ended(pid)
        assert await ask(models) == "Hello."

    run_with_models(tmp_path, job, idle_s=0.05)


def test_a_crash_in_a_reply_is_retryable_and_the_next_request_starts_the_process_again(tmp_path: Path) -> None:
    async def job(models: LocalModels) -> None:
        with pytest.raises(ModelError) as caught:
            await ask(models)
        assert caught.value.retryable
        assert await ask(models) == "Half"

    run_with_models(tmp_path, job, text="Half", die=str(tmp_path / "died"))


def test_a_model_that_does_not_fit_in_memory_is_refused_and_others_are_named(tmp_path: Path) -> None:
    async def job(models: LocalModels) -> None:
        with pytest.raises(ModelError, match="does not fit") as caught:
            await ask(models, "huge")
        assert "tiny" in caught.value.details.fix and not caught.value.retryable

    run_with_models(tmp_path, job)


def test_a_model_that_cannot_be_loaded_says_why(tmp_path: Path) -> None:
    async def job(models: LocalModels) -> None:
        with pytest.raises(ModelError, match="unknown architecture"):
            await ask(models)

    run_with_models(tmp_path, job, error="unknown architecture")


def test_a_missing_library_is_named_with_the_command_that_installs_it(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").touch()
    script = tmp_path / "without_library.py"
    script.write_text('print(\'{"error": "No module named xllamacpp.", "missing": "xllamacpp"}\')')
    models = LocalModels(tmp_path, LocalModelOptions, {}, table=TABLE, script=script)
    with pytest.raises(ModelError, match="xllamacpp") as caught:
        asyncio.run(ask(models))
    assert "install" in caught.value.details.fix


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_process_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_text('{"text": "Hello."}')
    code = f"""if True:
        import asyncio
        from pathlib import Path
        from core.models.local.local_models import LocalModelOptions, LocalModels
        from tests.core.models.local.test_local_models import STAND_IN, TABLE, pid_of
        async def main():
            folder = Path({str(tmp_path)!r})
            models = LocalModels(folder, LocalModelOptions, {{}}, table=TABLE, script=STAND_IN)
            print(await pid_of(models), flush=True)
            await asyncio.sleep(600)
        asyncio.run(main())
    """
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=Path(__file__).parents[4]
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        os.kill(parent.pid, signal.SIGKILL)
    asyncio.run(until_ended(pid))


def test_a_crash_in_a_reply_does_not_end_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run sends the request again, which starts the process again."""
    mark, folder = tmp_path / "died", tmp_path / "models"
    folder.mkdir()
    (folder / "tiny.gguf").write_text(json.dumps({"text": "Hello.", "die": str(mark)}))
    monkeypatch.setattr("app.process.services.LocalModels", partial(LocalModels, table=TABLE, script=STAND_IN))

    async def job() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.engine.start("Say hello.", scene.folder, RunStarted("local/tiny", 3))
            await scene.engine.wait_idle(session)
            events = await scene.events(session)
            assert [event.status for event in events if isinstance(event, RunEnded)] == ["completed"]
            assert mark.exists() and any(isinstance(event, RequestRetried) for event in events)

    run_bounded(job())
