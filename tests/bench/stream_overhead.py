"""Measures the CPU time of the engine per streamed chunk, compared with httpx and json.loads on the same stream."""

import asyncio
import json
import multiprocessing
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from multiprocessing.connection import Connection
from statistics import median

import httpx

from core.domain.messages import Message
from core.domain.text import Text
from core.models.chat import ChatCompletionsModel
from core.models.endpoint import ProviderEndpoint
from core.models.model import Request
from tests.bench.benchmark import Measurement

RATIO = 2.0
TURNS = 9
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
SCENES = {"all at once": (20_000, 0), "one by one": (2_000, 200)}  # number of chunks, microseconds between them
CHUNK = {
    "id": "chatcmpl-19PSRUzOcHuZJ",
    "object": "chat.completion.chunk",
    "created": 1795212716,
    "model": "some-model",
    "choices": [{"index": 0, "delta": {"content": " words"}, "logprobs": None, "finish_reason": None}],
}
LAST = {**CHUNK, "choices": [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}]}


def measure_chunks() -> Iterator[Measurement]:
    """Measure the CPU time of both readers. They alternate, so that load on the machine affects both alike."""
    for name, (number, pause_us) in SCENES.items():
        here, there = multiprocessing.Pipe()
        process = multiprocessing.get_context("spawn").Process(target=serve, args=(there, number, pause_us))
        process.start()
        try:
            url = f"http://127.0.0.1:{here.recv()}/v1"
            took: tuple[list[float], list[float]] = ([], [])
            for _ in range(TURNS):
                for reader, times in zip((read_with_engine, read_with_httpx), took, strict=True):
                    times.append(asyncio.run(time_reply(reader, url, number)))
        finally:
            process.terminate()
            process.join()
        mine, floor = (median(times) / number * 1e6 for times in took)
        ratio = median(a / b for a, b in zip(*took, strict=True))
        values = {"ours_us": mine, "bare_us": floor, "ratio": ratio, "chunks": number}
        yield Measurement(name, values, f"ratio ≤ {RATIO:g}", ratio <= RATIO)


async def time_reply(reader: Callable[[str], Awaitable[int]], url: str, number: int) -> float:
    """Return the CPU seconds of reading a whole reply."""
    start = time.process_time()
    length = await reader(url)
    took = time.process_time() - start
    assert length == number * len(" words")
    return took


async def read_with_engine(url: str) -> int:
    """Read a reply as the engine does; return its length in characters."""
    request = Request([Message("user", Text("hello"))])
    return sum(
        [len(delta.text) async for delta in ChatCompletionsModel(ProviderEndpoint(url), "some-model").stream(request)]
    )


async def read_with_httpx(url: str) -> int:
    """Read a reply with the least possible code; return its length in characters."""
    length, rest = 0, b""
    async with (
        httpx.AsyncClient(trust_env=False, verify=False, timeout=None) as client,  # plain http on loopback
        client.stream("POST", f"{url}/chat/completions", content=b"{}") as response,
    ):
        async for piece in response.aiter_bytes():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if line.startswith(b"data: {"):
                    delta = json.loads(line[6:])["choices"][0]["delta"]
                    length += len(delta.get("content", ""))
    return length


def serve(tell: Connection, number: int, pause_us: int) -> None:
    """Serve the same stream to every client; runs in a separate process. Sends its port through `tell`."""
    event = f"data: {json.dumps(CHUNK)}\n\n".encode()
    end = f"data: {json.dumps(LAST)}\n\ndata: [DONE]\n\n".encode()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        tell.send(listener.getsockname()[1])
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                _read_request(connection)
                connection.sendall(HEAD)
                for _ in range(number):
                    connection.sendall(event)
                    _pause(pause_us)
                connection.sendall(end)


def _read_request(connection: socket.socket) -> None:
    """Read the whole request: unread data would reset the connection when it is closed."""
    data = connection.recv(65_536)
    size = int(data.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(data.partition(b"\r\n\r\n")[2]) < size:
        data += connection.recv(65_536)


def _pause(microseconds: int) -> None:
    """Busy-wait: sleeping would take far longer than this."""
    end = time.perf_counter_ns() + microseconds * 1_000
    while microseconds and time.perf_counter_ns() < end:
        pass
