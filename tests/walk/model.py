"""A model server on this machine that does what the last message says: ask, write, run, remember, talk."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.servers.scripted import chunk

PAUSE_S = 0.05
WORDS = 3_600  # three minutes of talk: the way by keys is long
FORMED = 600  # words among which there is code: each piece has a button, and Tab comes to all of them
OPTIONS = [{"label": "The board"}, {"label": "Everybody"}, {"label": "Nobody yet"}]
MARKDOWN = "| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nprint('hello')\n```\n\nIt is **done**. "


def called(words: str) -> tuple[str, dict[str, Any]] | None:
    """The tool that these words want, if any."""
    verb, _, rest = words.partition(" ")
    match verb.lower():
        case "ask":
            return "ask_user", {"question": f"For whom is {rest}?", "why": "It decides.", "options": OPTIONS}
        case "write":
            return "write", {"path": f"{rest}.md", "content": f"# {rest}\n\n" + "A line of it.\n" * 30}
        case "run":
            return "run", {"command": f"echo {rest} && seq 1 2000"}
        case "remember":
            return "remember", {"kind": "knowledge", "text": f"{rest.capitalize()} is kept in the blue folder."}
        case _:
            return None


class Answer(BaseHTTPRequestHandler):
    """One request, answered as a chat server streams."""

    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        self._begin("application/json")
        self.wfile.write(json.dumps({"data": [{"id": "m", "context_length": 64_000}]}).encode())

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = [message for message in asked["messages"] if message["role"] != "system"]
        last = next(message for message in reversed(said) if message["role"] == "user")
        words = str(last["content"] if isinstance(last["content"], str) else last["content"][-1].get("text", ""))
        answered = said[-1]["role"] == "tool"
        self._begin("text/event-stream")
        with suppress(OSError):  # stopped by the person
            self._reply(words.strip(), answered=answered)

    def _reply(self, words: str, *, answered: bool) -> None:
        call = None if answered else called(words)
        if call:
            name, arguments = call
            one = {"index": 0, "id": f"x{id(self)}", "function": {"name": name, "arguments": json.dumps(arguments)}}
            self._tell(chunk(content="I do it."), chunk(tool_calls=[one]), chunk("tool_calls"))
        elif words.startswith("Talk"):
            for number in range(WORDS):
                self._tell(chunk(content=f"word{number} " if number % 60 or number > FORMED else MARKDOWN))
                if self.server.over.wait(PAUSE_S):  # type: ignore[attr-defined]
                    return
            self._tell(chunk("stop"))
        else:
            self._tell(chunk(content=MARKDOWN + words[:80]), chunk("stop"))
        self.wfile.write(b"data: [DONE]\n\n")

    def _tell(self, *chunks: dict[str, Any]) -> None:
        for one in chunks:
            self.wfile.write(f"data: {json.dumps(one)}\n\n".encode())
            self.wfile.flush()

    def _begin(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Whoever walks has a report of its own."""


@contextmanager
def model() -> Iterator[str]:
    """Its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.daemon_threads = True
    server.over = threading.Event()  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, name="model")
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.over.set()  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()
        server.server_close()
