"""Sends traces of our own sessions, without secrets, to the OTLP collector set in the settings."""

import asyncio
import json
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx

from core.domain.address import check_address
from core.domain.problems import Problem
from core.exchange.export_redactor import ExportRedactor
from core.exchange.exporters.otlp import SCOPE, OtlpSpanBuilder, encode_attributes
from core.store.codec import load_texts
from core.store.journal_update import JournalUpdate

MAX_QUEUED = 10_000  # spans waiting to be sent; when there are more, the oldest are dropped
BATCH = 200  # spans sent in one request
TIMEOUT_S = 10.0
RETRY_DELAYS_S = (1.0, 4.0)
Plain = dict[str, Any]


class TraceSender:
    """Sends the spans of our own sessions to an OTLP collector.

    `on_journal_update` receives each event of the journal; `run` sends the spans. `find_blob` reads a blob. `report` is
    called with the error when sending fails, and not again until sending has worked.
    """

    def __init__(
        self,
        address: str,
        redactor: ExportRedactor,
        find_blob: Callable[[str], bytes | None],
        report: Callable[[BaseException], None],
    ) -> None:
        check_address(address)
        url = address.rstrip("/")
        self._url = url if url.endswith("/v1/traces") else f"{url}/v1/traces"
        self._redactor = redactor
        self._find_blob = find_blob
        self._report = report
        self._builders: dict[str, OtlpSpanBuilder] = {}
        self._traces: dict[str, str] = {}
        self._queued_spans: deque[Plain] = deque(maxlen=MAX_QUEUED)
        self._has_spans = asyncio.Event()
        self._reported = False

    def on_journal_update(self, update: JournalUpdate) -> None:
        """Queue the spans that an event completes. Imported sessions are not sent."""
        row = update.session
        if row.imported_from:
            return
        trace = self._traces.setdefault(row.id, self._traces.get(row.parent, row.parent or row.id))
        if row.id not in self._builders:
            self._builders[row.id] = OtlpSpanBuilder(trace, self._redactor.redact_row(row))
        event = self._redactor.redact_event(load_texts(update.entry.event, self._find_blob), lambda name: name)
        spans = list(self._builders[row.id].add(replace(update.entry, event=event)))
        if spans:
            self._queued_spans.extend(spans)
            self._has_spans.set()

    async def run(self) -> None:
        """Send queued spans until canceled."""
        limits = httpx.Timeout(TIMEOUT_S)
        async with httpx.AsyncClient(timeout=limits, trust_env=False, follow_redirects=False) as client:
            while True:
                await self._has_spans.wait()
                self._has_spans.clear()
                while self._queued_spans:
                    batch = [self._queued_spans.popleft() for _ in range(min(BATCH, len(self._queued_spans)))]
                    await self._send(client, batch)

    async def _send(self, client: httpx.AsyncClient, spans: list[Plain]) -> None:
        """Send spans, with two retries.

        Then drop them, so that an unavailable collector does not make the queue grow.
        """
        body = json.dumps(
            {
                "resourceSpans": [
                    {
                        "resource": {"attributes": encode_attributes({"service.name": "journeyman"})},
                        "scopeSpans": [{"scope": SCOPE, "spans": spans}],
                    }
                ]
            }
        )
        cause = ""
        for delay_s in (*RETRY_DELAYS_S, 0.0):
            try:
                response = await client.post(self._url, content=body, headers={"Content-Type": "application/json"})
                if response.is_success:
                    self._reported = False
                    return
                cause = f"The collector returned HTTP {response.status_code}."
                if response.status_code < 500 and response.status_code != 429:
                    break
            except httpx.HTTPError as error:
                cause = f"{type(error).__name__}: {error}".rstrip(": ")
            await asyncio.sleep(delay_s)
        if not self._reported:
            self._reported = True
            fix = "Start the collector, or clear its address in Settings under Network."
            self._report(Problem(f"Traces could not be sent to {self._url}.", cause, fix))
