"""Measures a real model that Journeyman serves, compared with the library xllamacpp used directly.

Both receive the same prompts, have the same priority and wait for their threads in the same way, so the ratios show
what our layers add.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

import httpx

from core.domain.messages import Message
from core.domain.text import Text
from core.models.catalog import ModelCatalog
from core.models.chat import ChatCompletionsModel
from core.models.endpoint import ProviderEndpoint
from core.models.local.hardware import physical_cores
from core.models.local.local_models import LocalModelOptions, LocalModels
from core.models.local.model_table import LocalModel
from core.models.local.server_process import NICE, SPIN_COUNT
from core.models.model import ReplyOptions, Request
from core.settings.api_keys import ApiKeys
from core.settings.schema import Settings
from tests.bench.benchmark import Measurement
from tests.bench.local_model_ticks import measure_ticks
from tests.servers.process import serving
from tests.servers.thinking import MODELS, packaged_model

ROUNDS = 6
WINDOW = 2048
REPLY_TOKENS = 96  # at 16 tokens, the rate varies by 10% from run to run
MAX_FIRST, MIN_RATE = 1.05, 0.97
IDLE_BYTES = 20 << 20
UNLOAD_S = 0.5
PROMPT = "Number {}. Describe in a few sentences how a river finds its way from the mountains to the sea. " * 4


class Reply(NamedTuple):
    """The seconds to the first token, and the tokens per second after it."""

    first_s: float
    rate: float


def measure_local_model() -> Iterator[Measurement]:
    """Measure both in turn, so that load on the machine affects both alike."""
    path = packaged_model("qwen")
    os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)
    with tempfile.TemporaryDirectory() as folder:
        server = Path(__file__).parents[1] / "servers" / "serve_gguf.py"
        words = [str(path), "qwen", "0", str(WINDOW), str(physical_cores())]
        Path(folder, "qwen.gguf").symlink_to(path)
        direct = ["nice", "-n", str(NICE), sys.executable, str(server), *words]
        with serving(direct, r"serving (http://127\.0\.0\.1:\d+)", Path(folder, "log")) as url:
            yield from asyncio.run(_measure(Path(folder), f"{url}/v1/chat/completions"))
    yield measure_ticks()


async def _measure(folder: Path, url: str) -> list[Measurement]:
    table = {"qwen": LocalModel("qwen", "", "", "", MODELS["qwen"].size, 1, WINDOW, "", ())}
    await _time(_through_provider(url))
    servers = _children()
    before = _private_bytes(servers)  # with everything imported that a request to any provider needs
    models = LocalModels(folder, partial(LocalModelOptions, idle_s=UNLOAD_S, window=WINDOW), {}, table=table)
    catalog = ModelCatalog(Settings, ApiKeys({}), {}, local_models=models)
    replies: tuple[list[Reply], list[Reply]] = ([], [])
    try:
        async with models.serving("qwen"):  # stays loaded between the requests
            await _time(_ours(catalog, "Hello."))
            await _time(_direct(url, "Hello."))
            for number in range(ROUNDS):
                prompt = PROMPT.format(*[number] * 4)
                asked = [(replies[0], _ours(catalog, prompt)), (replies[1], _direct(url, prompt))]
                for measured, stream in asked if number % 2 else reversed(asked):
                    measured.append(await _time(stream))
        await asyncio.sleep(4 * UNLOAD_S)
        grown = _private_bytes(servers) - before
    finally:
        await models.close()
    first = median(ours.first_s / direct.first_s for ours, direct in zip(*replies, strict=True))
    rate = median(ours.rate / direct.rate for ours, direct in zip(*replies, strict=True))
    values = {
        "first_ratio": first, "rate_ratio": rate, "first_s": median(reply.first_s for reply in replies[0]),
        "rate": median(reply.rate for reply in replies[0]),
    }  # fmt: skip
    goal = f"first token ≤ {MAX_FIRST:g} ×, rate ≥ {MIN_RATE:g} ×"
    return [
        Measurement("beside xllamacpp", values, goal, first <= MAX_FIRST and rate >= MIN_RATE),
        Measurement("memory after unloading", {"grown_mb": grown / 2**20}, "≤ 20 MB", grown <= IDLE_BYTES),
    ]


async def _time(stream: AsyncGenerator[str, None]) -> Reply:
    started, first, pieces = time.perf_counter(), 0.0, 0
    async with aclosing(stream):
        async for _ in stream:
            pieces += 1
            first = first or time.perf_counter()
    return Reply(first - started, (pieces - 1) / (time.perf_counter() - first))


async def _ours(catalog: ModelCatalog, prompt: str) -> AsyncGenerator[str, None]:
    options = ReplyOptions(max_output_tokens=REPLY_TOKENS, temperature=0.0)
    async for delta in catalog.model("local/qwen").stream(Request([Message("user", Text(prompt))], options=options)):
        if delta.text:
            yield delta.text


async def _through_provider(url: str) -> AsyncGenerator[str, None]:
    """Ask the server as another program's, with the same code as a model of our own."""
    endpoint = ProviderEndpoint(url.removesuffix("/chat/completions"))
    model = ChatCompletionsModel(endpoint, "qwen")
    options = ReplyOptions(max_output_tokens=REPLY_TOKENS)
    async for delta in model.stream(Request([Message("user", Text("Hello."))], options=options)):
        yield delta.text


async def _direct(url: str, prompt: str) -> AsyncGenerator[str, None]:
    body = {
        "messages": [{"role": "user", "content": prompt}], "max_tokens": REPLY_TOKENS, "temperature": 0, "stream": True,
    }  # fmt: skip
    async with httpx.AsyncClient(timeout=600) as client, client.stream("POST", url, json=body) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                choices = json.loads(line[6:])["choices"]
                if choices and choices[0]["delta"].get("content"):
                    yield choices[0]["delta"]["content"]


def _children() -> set[int]:
    own = os.getpid()
    return {int(child) for child in Path(f"/proc/{own}/task/{own}/children").read_text().split()}


def _private_bytes(servers: set[int]) -> int:
    """Return the memory of this process and its children, except `servers`, that no other process shares."""
    total = 0
    for process in (os.getpid(), *(_children() - servers)):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith(("Private_Clean", "Private_Dirty")):
                total += int(line.split()[1]) << 10
    return total
