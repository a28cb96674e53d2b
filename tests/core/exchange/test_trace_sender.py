"""Traces are sent live and without secrets; an unavailable collector does not disturb the session."""

import asyncio
from pathlib import Path

import pytest

from core.domain.events import Replied, ToolReturned, UserMessage
from core.domain.problems import Problem
from core.exchange.trace_receiver import TraceReceiver
from tests.core.exchange.home import home
from tests.core.exchange.test_exporters import CHILD, KEY, MINE, worked
from tests.core.exchange.test_importers import CLAUDE

BOUND_S = 20


def test_a_run_is_sent_live_and_read_back(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db", [MINE]) as one, home(tmp_path / "b.db") as two:
            receiver = TraceReceiver(two.journal)
            await receiver.listen(0)
            came = asyncio.Event()
            two.journal.listen(lambda told: came.set() if told.session.status == "done" else None)
            bugs: list[BaseException] = []
            async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as tasks:
                sending = tasks.create_task(one.exchange.send_traces(f"http://127.0.0.1:{receiver.port}", bugs.append))
                while not one.journal._listeners:  # noqa: ASYNC110 - a list cannot be awaited
                    await asyncio.sleep(0)
                session = await worked(one)
                await one.exchange.import_file(CLAUDE)  # imported sessions are not sent
                await came.wait()
                sending.cancel()
            await receiver.close()
            (row,) = two.reader.sessions()
            events = await two.events(row.id)
            before = [e for name in (session, CHILD) for e in await one.events(name)]
            for kind in (Replied, UserMessage):
                assert sum(isinstance(e, kind) for e in events) >= sum(isinstance(e, kind) for e in before) - 1
            assert any(isinstance(e, ToolReturned) for e in events)
            assert KEY not in repr(events) and MINE not in repr(events) and not bugs

    asyncio.run(main())


def test_a_missing_collector_is_reported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            told: asyncio.Queue[BaseException] = asyncio.Queue()
            async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as tasks:
                sending = tasks.create_task(made.exchange.send_traces("http://127.0.0.1:9", told.put_nowait))
                while not made.journal._listeners:  # noqa: ASYNC110 - a list cannot be awaited
                    await asyncio.sleep(0)
                await worked(made)
                problem = await told.get()
                assert isinstance(problem, Problem) and "http://127.0.0.1:9/v1/traces" in str(problem)
                sending.cancel()
            assert told.empty() and not made.journal._listeners

    monkeypatch.setattr("core.exchange.trace_sender.RETRY_DELAYS_S", (0.0,))
    asyncio.run(main())


@pytest.mark.parametrize("address", ["http://example.com", "file:///etc", "http://u:p@127.0.0.1", "nonsense"])
def test_an_insecure_address_is_refused(address: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            with pytest.raises(Problem):
                await made.exchange.send_traces(address, lambda error: None)

    asyncio.run(main())
