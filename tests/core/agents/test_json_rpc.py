"""Tests of two JSON-RPC peers that are connected to each other without a process."""

import asyncio

import pytest

from core.agents.json_rpc import MAX_INVALID_LINES, JsonRpcPeer, Params, PeerClosed


class Side:
    """A peer whose lines are recorded and passed to another peer."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.other: JsonRpcPeer | None = None
        self.peer = JsonRpcPeer(self._write, self._asked, self._told)

    async def _write(self, line: bytes) -> None:
        self.written.append(line)
        if self.other:
            await self.other.receive(line)

    async def _asked(self, method: str, params: Params) -> object:
        await asyncio.sleep(0)
        return method

    async def _told(self, method: str, params: Params) -> None:
        raise AssertionError(method)


def test_invalid_messages_are_answered_a_few_times_without_a_loop() -> None:
    async def talk() -> None:
        one, two = Side(), Side()
        one.other, two.other = two.peer, one.peer
        for _ in range(MAX_INVALID_LINES):
            await one.peer.receive(b"{not json\n")
        assert 1 <= len(one.written) <= 10 and two.written == []
        for line in (
            b'{"id": null, "error": {"code": -32700}}',
            b'{"id": null, "result": 1}',
            b'{"id": 7, "error": 5}',
        ):
            await two.peer.receive(line)
        assert two.written == []
        with pytest.raises(PeerClosed):
            await one.peer.receive(b"{not json\n")

    asyncio.run(talk())


def test_idle_means_every_request_is_answered() -> None:
    async def talk() -> None:
        side = Side()
        await side.peer.receive(b'{"id": 1, "method": "a"}')
        await side.peer.receive(b'{"id": 2, "method": "b"}')
        assert side.written == []
        await side.peer.wait_until_idle()
        assert len(side.written) == 2

    asyncio.run(talk())
