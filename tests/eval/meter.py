"""A proxy before a provider that counts what each agent sends, and gives all agents the same sampling."""

import http.client
import json
import re
import select
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

TIMEOUT_S: Final = 1_800.0
CHECK_INTERVAL_S: Final = 0.2  # between two looks whether the agent still waits for its reply
HOP_HEADERS: Final = frozenset({"connection", "transfer-encoding", "content-length", "host", "accept-encoding"})
# The figures of llama.cpp (`timings`), else those of the APIs; the last match in a reply is that of the whole reply.
PROMPT: Final = re.compile(rb'"(?:prompt_tokens|input_tokens)":\s*(\d+)')
CACHED: Final = re.compile(rb'"(?:cached_tokens|cache_n)":\s*(\d+)')
REPLY: Final = re.compile(rb'"(?:completion_tokens|output_tokens|predicted_n)":\s*(\d+)')
READ: Final = re.compile(rb'"prompt_n":\s*(\d+)')
COMPUTED: Final = (re.compile(rb'"prompt_ms":\s*(\d+)'), re.compile(rb'"predicted_ms":\s*(\d+)'))


@dataclass(slots=True)
class Meter:
    """The requests since the last `take`: their prompt tokens, those of them not in the cache, and the reply tokens.

    `seconds` are those that the server computed, if it says so. `seed` is the seed of the sampling, for all agents.
    """

    requests: int = 0
    prompt: int = 0
    read: int = 0
    reply: int = 0
    first_prompt: int = 0
    seconds: float = 0.0
    seed: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def count(self, body: bytes) -> None:
        """Count a reply of the server. A reply without figures, such as an error, counts as a request only."""
        read, cached = _last(READ, body), _last(CACHED, body) or 0
        prompt = read + cached if read is not None else _last(PROMPT, body) or 0
        with self._lock:
            self.requests += 1
            self.first_prompt = self.first_prompt or prompt
            self.prompt += prompt
            self.read += prompt - cached
            self.reply += _last(REPLY, body) or 0
            self.seconds += sum(_last(pattern, body) or 0 for pattern in COMPUTED) / 1_000

    def take(self) -> "Meter":
        """Return the counts and start again."""
        with self._lock:
            taken = Meter(self.requests, self.prompt, self.read, self.reply, self.first_prompt, self.seconds)
            self.requests = self.prompt = self.read = self.reply = self.first_prompt = 0
            self.seconds = 0.0
        return taken


def _last(pattern: re.Pattern[bytes], body: bytes) -> int | None:
    found = pattern.findall(body)
    return int(found[-1]) if found else None


@contextmanager
def metered(server: str, log: Path | None = None) -> Iterator[tuple[str, Meter]]:
    """Forward requests to `server`, at temperature 0; yields the address of the proxy and its meter.

    Each request and its reply are added to `log` as a JSON line.
    """
    meter = Meter()
    target = urlsplit(server)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._forward("GET", b"")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            self._forward("POST", _with_sampling(body, meter.seed))

        def _forward(self, method: str, body: bytes) -> None:
            upstream = http.client.HTTPConnection(target.hostname or "", target.port or 80, timeout=TIMEOUT_S)
            headers = _end_to_end(self.headers.items())
            ended = threading.Event()
            try:
                upstream.connect()
                threading.Thread(target=_end_if_abandoned, args=(self.connection, upstream.sock, ended)).start()
                upstream.request(method, target.path.rstrip("/") + self.path, body, headers)
                answer = upstream.getresponse()
                self.send_response(answer.status)
                for name, value in _end_to_end(answer.getheaders()).items():
                    self.send_header(name, value)
                self.send_header("connection", "close")
                self.end_headers()
                whole = b""
                while part := answer.read1(65_536):
                    whole += part
                    self.wfile.write(part)
                    self.wfile.flush()
                if method == "POST":
                    meter.count(whole)
                    if log:
                        _append(log, body, whole)
            except (OSError, http.client.HTTPException):  # the agent or the server has gone; the agent reports it
                pass
            finally:
                ended.set()
                self.close_connection = True
                upstream.close()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{proxy.server_port}", meter
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join()


def _end_to_end(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the headers that a proxy passes on."""
    return {name: value for name, value in headers if name.lower() not in HOP_HEADERS}


def _end_if_abandoned(agent: socket.socket, upstream: socket.socket, ended: threading.Event) -> None:
    """End a request whose agent has closed its connection, or a model that writes without end stays busy with it."""
    while not ended.wait(CHECK_INTERVAL_S):
        try:
            if select.select([agent], [], [], 0)[0] and not agent.recv(1, socket.MSG_PEEK):
                upstream.shutdown(socket.SHUT_RDWR)
                return
        except (OSError, ValueError):  # one of the two is closed already
            return


def _append(log: Path, request: bytes, reply: bytes) -> None:
    pair = {"request": request.decode("utf-8", "replace"), "reply": reply.decode("utf-8", "replace")}
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(pair) + "\n")


def _with_sampling(body: bytes, seed: int) -> bytes:
    try:
        asked = json.loads(body)
    except ValueError:
        return body
    if not isinstance(asked, dict) or not ("messages" in asked or "input" in asked):
        return body
    return json.dumps({**asked, "temperature": 0, "seed": seed}).encode()
