"""Two sides of a connection, wired to each other without a process between."""

import asyncio

import pytest

from core.agents.peer import NOISE, Gone, Params, Peer


class Side:
    """A peer whose lines are heard by another, and counted."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.other: Peer | None = None
        self.peer = Peer(self._write, self._asked, self._told)

    async def _write(self, line: bytes) -> None:
        self.written.append(line)
        if self.other:
            await self.other.hear(line)

    async def _asked(self, method: str, params: Params) -> object:
        await asyncio.sleep(0)
        return method

    async def _told(self, method: str, params: Params) -> None:
        raise AssertionError(method)


def test_noise_is_answered_a_few_times_and_never_by_each_other() -> None:
    async def talk() -> None:
        one, two = Side(), Side()
        one.other, two.other = two.peer, one.peer
        for _ in range(NOISE):
            await one.peer.hear(b"{not json\n")
        assert 1 <= len(one.written) <= 10 and two.written == []
        for line in (
            b'{"id": null, "error": {"code": -32700}}',
            b'{"id": null, "result": 1}',
            b'{"id": 7, "error": 5}',
        ):
            await two.peer.hear(line)
        assert two.written == []
        with pytest.raises(Gone):
            await one.peer.hear(b"{not json\n")

    asyncio.run(talk())


def test_idle_is_when_all_that_was_asked_is_answered() -> None:
    async def talk() -> None:
        side = Side()
        await side.peer.hear(b'{"id": 1, "method": "a"}')
        await side.peer.hear(b'{"id": 2, "method": "b"}')
        assert side.written == []
        await side.peer.idle()
        assert len(side.written) == 2

    asyncio.run(talk())
