"""Stands in for `server_process.py` without xllamacpp: the same protocol, and replies made of fixed text.

The model file is JSON: `text` to reply with, `error` instead of serving, or `die` to end in the middle of a reply while
the file of that name does not exist, which it then creates. `hang` stops in the middle of a reply in the same way, and
writes the number of the process into the file. `wait` names a pipe that is read to its end when half of the prompt has
been read.
"""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CONFIG = json.loads(sys.stdin.buffer.readline())
MODEL = json.loads(Path(CONFIG["path"]).read_bytes())


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.headers["authorization"] != f"Bearer {CONFIG['key']}":
            self.send_error(401)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for tokens in (60, 100) if body.get("return_progress") else ():
            self._send({"delta": {"content": None}}, prompt_progress={"total": 100, "cache": 20, "processed": tokens})
            if tokens < 100 and "wait" in MODEL:
                Path(MODEL["wait"]).read_bytes()
        self._send({"delta": {"content": MODEL["text"]}})
        if (mark := MODEL.get("die")) and not Path(mark).exists():
            Path(mark).touch()
            os._exit(1)
        if (mark := MODEL.get("hang")) and not Path(mark).exists():
            draft = Path(f"{mark}.draft")
            draft.write_text(str(os.getpid()))
            draft.replace(mark)
            threading.Event().wait()
        self._send({"delta": {}, "finish_reason": "stop"})
        self.wfile.write(b"data: [DONE]\n\n")

    def _send(self, choice: dict[str, Any], **fields: Any) -> None:
        chunk = {"choices": [{"index": 0, **choice}], **fields}
        self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


def answer(reply: dict[str, str]) -> None:
    """Write the line that the program waits for."""
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()


def exit_with_parent() -> None:
    os.read(0, 1)
    os._exit(0)


threading.Thread(target=exit_with_parent, daemon=True).start()
if "error" in MODEL:
    answer({"error": MODEL["error"]})
else:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    answer({"url": f"http://127.0.0.1:{server.server_port}/v1"})
    server.serve_forever()
