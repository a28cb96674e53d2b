"""A loopback server that delivers one file, with the faults of real ones."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class FileServer:
    """Delivers `content`. `cut_after` closes the connection of the first request after so many bytes.

    With `hold_at`, each response stops there until `release` is set.
    """

    def __init__(
        self, content: bytes, *, cut_after: int = 0, ranges: bool = True, redirect: str = "", hold_at: int = 0
    ) -> None:
        self.content, self.cut_after, self.ranges, self.redirect = content, cut_after, ranges, redirect
        self.hold_at, self.release = hold_at, threading.Event()
        self.requested: list[str] = []  # the Range header of each request
        self.url = ""

    def respond(self, handler: BaseHTTPRequestHandler) -> None:
        asked = handler.headers.get("range", "")
        self.requested.append(asked)
        if self.redirect:
            handler.send_response(302)
            handler.send_header("location", self.redirect)
            handler.end_headers()
            return
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.ranges else 0
        body = self.content[start:]
        handler.send_response(206 if start else 200)
        handler.send_header("content-length", str(len(body)))
        if start:
            handler.send_header("content-range", f"bytes {start}-{len(self.content) - 1}/{len(self.content)}")
        handler.end_headers()
        cut, self.cut_after = self.cut_after, 0
        held = max(0, self.hold_at - start)
        with suppress(OSError):  # the client has closed the connection
            handler.wfile.write(body[: cut or held])
            if held:
                self.release.wait()
            handler.wfile.write(b"" if cut else body[held:])


@contextmanager
def serving_file(server: FileServer) -> Iterator[FileServer]:
    """Serve on a free port; sets `url`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.respond(self)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http_server:
        thread = threading.Thread(target=http_server.serve_forever)
        thread.start()
        server.url = f"http://127.0.0.1:{http_server.server_port}/hub/model.gguf"
        try:
            yield server
        finally:
            server.release.set()
            http_server.shutdown()
            thread.join()
