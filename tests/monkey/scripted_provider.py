"""A local provider that does what the last user message says: ask, write, run, remember or talk."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.servers.scripted_server import chunk

PAUSE_S = 0.05
WORDS = 3_600  # three minutes of talk, because keyboard navigation takes long
WORDS_WITH_CODE = 600  # code blocks appear only in the first words: each has a button that Tab has to pass
OPTIONS = [{"label": "The board"}, {"label": "Everybody"}, {"label": "Nobody yet"}]
MARKDOWN = "| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nprint('hello')\n```\n\nIt is **done**. "


def tool_call_for(words: str) -> tuple[str, dict[str, Any]] | None:
    """Return the tool call this message asks for, if any."""
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


class ChatHandler(BaseHTTPRequestHandler):
    """Answers a request like a streaming Chat Completions server."""

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
        with suppress(OSError):  # the run was stopped
            self._reply(words.strip().rpartition("\n\n")[2], answered=answered)  # the session context precedes the task

    def _reply(self, words: str, *, answered: bool) -> None:
        call = None if answered else tool_call_for(words)
        if call:
            name, arguments = call
            one = {"index": 0, "id": f"x{id(self)}", "function": {"name": name, "arguments": json.dumps(arguments)}}
            self._tell(chunk(content="I do it."), chunk(tool_calls=[one]), chunk("tool_calls"))
        elif words.startswith("Talk"):
            for number in range(WORDS):
                self._tell(chunk(content=f"word{number} " if number % 60 or number > WORDS_WITH_CODE else MARKDOWN))
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
        """Suppress the request log: the monkey test prints its own report."""


@contextmanager
def scripted_provider() -> Iterator[str]:
    """Serve the provider in a thread and yield its base URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), ChatHandler)
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
