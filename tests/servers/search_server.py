"""A local search engine with the API of Tavily."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@contextmanager
def search_server(found: Callable[[str], str]) -> Iterator[tuple[str, list[str]]]:
    """Run the server; yields its URL and the received requests. `found` returns the text of the only result."""
    asked: list[str] = []

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.rfile.read(int(self.headers["content-length"])).decode())
            page = {"title": "T", "url": "https://x.example", "content": found(json.loads(asked[-1])["query"])}
            body = json.dumps({"results": [page]}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
