"""What agents do here, sent as it happens to a server of traces that the person named; without secrets."""

import asyncio
import json
from collections import deque
from collections.abc import Callable
from typing import Any

import httpx

from core.domain.address import check_address
from core.domain.problems import Problem
from core.exchange.clean import Cleaner
from core.exchange.exporters.otlp import SCOPE, Spans, attributes
from core.store.codec import whole
from core.store.told import Told

MOST = 10_000  # spans that wait; the oldest go first
BATCH = 200
TIMEOUT_S = 10.0
AGAIN_S = (1.0, 4.0)
Plain = dict[str, Any]


class Sender:
    """`hear` is a listener of the journal; `run` sends what it made of it. `kept` reads contents kept apart.

    `report` is told once when the server does not take what it is sent, and again after it did.
    """

    def __init__(
        self, address: str, cleaner: Cleaner, kept: Callable[[str], bytes | None],
        report: Callable[[BaseException], None],
    ) -> None:  # fmt: skip
        check_address(address)
        path = address.rstrip("/")
        self._url = path if path.endswith("/v1/traces") else f"{path}/v1/traces"
        self._cleaner = cleaner
        self._kept = kept
        self._report = report
        self._spans: dict[str, Spans] = {}
        self._traces: dict[str, str] = {}
        self._waiting: deque[Plain] = deque(maxlen=MOST)
        self._came = asyncio.Event()
        self._told = False

    def hear(self, told: Told) -> None:
        """Facts of our own sessions; what was imported is not news to anybody."""
        row = told.session
        if row.source:
            return
        trace = self._traces.setdefault(row.id, self._traces.get(row.parent, row.parent or row.id))
        if row.id not in self._spans:
            self._spans[row.id] = Spans(trace, row, self._cleaner.text(row.title))
        entry = told.entry
        event = self._cleaner.event(whole(entry.event, self._kept), lambda name: name)
        entry = type(entry)(entry.session, entry.seq, entry.run, entry.at, event)
        made = list(self._spans[row.id].hear(entry))
        if made:
            self._waiting.extend(made)
            self._came.set()

    async def run(self) -> None:
        """Send what waits, until cancelled."""
        limits = httpx.Timeout(TIMEOUT_S)
        async with httpx.AsyncClient(timeout=limits, trust_env=False, follow_redirects=False) as client:
            while True:
                await self._came.wait()
                self._came.clear()
                while self._waiting:
                    batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
                    await self._send(client, batch)

    async def _send(self, client: httpx.AsyncClient, spans: list[Plain]) -> None:
        """Twice again, then these are let go of: a server of traces must not hold what agents do."""
        body = json.dumps({"resourceSpans": [{"resource": {"attributes": attributes({"service.name": "journeyman"})},
                                              "scopeSpans": [{"scope": SCOPE, "spans": spans}]}]})  # fmt: skip
        why = ""
        for wait in (*AGAIN_S, 0.0):
            try:
                answer = await client.post(self._url, content=body, headers={"Content-Type": "application/json"})
                if answer.is_success:
                    self._told = False
                    return
                why = f"It answered {answer.status_code}."
                if answer.status_code < 500 and answer.status_code != 429:
                    break
            except httpx.HTTPError as error:
                why = f"{type(error).__name__}: {error}".rstrip(": ")
            await asyncio.sleep(wait)
        if not self._told:
            self._told = True
            do = "Start the server, or clear the address in the settings under Network."
            self._report(Problem(f"Traces could not be sent to {self._url}.", why, do))
