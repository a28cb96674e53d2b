"""An MCP server behind OAuth, with its authorization server: discovery, registration, PKCE and rotating tokens."""

import base64
import hashlib
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

TOOL = {"name": "greet", "description": "Greets.", "inputSchema": {"type": "object", "properties": {}}}


@dataclass
class OAuthServer:
    """The state of both servers. `requests` are the paths asked for, with the grant type of token requests."""

    url: str = ""
    refuses: bool = False  # the user presses Deny on the page
    authorize_url: str = ""  # announced instead of our own page
    expires_in: int = 3600
    requests: list[str] = field(default_factory=list)
    clients: dict[str, list[str]] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)
    refresh_tokens: set[str] = field(default_factory=set)

    @property
    def mcp(self) -> str:
        return f"{self.url}/mcp"

    def metadata(self, path: str) -> dict[str, Any] | None:
        if path.startswith("/.well-known/oauth-protected-resource"):
            return {"resource": self.mcp, "authorization_servers": [self.url], "scopes_supported": ["tools"]}
        if path.startswith("/.well-known/oauth-authorization-server"):
            return {
                "issuer": self.url,
                "authorization_endpoint": self.authorize_url or f"{self.url}/login",
                "token_endpoint": f"{self.url}/oauth/token",
                "registration_endpoint": f"{self.url}/register",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
            }
        return None

    def register(self, sent: dict[str, Any]) -> dict[str, Any]:
        client = secrets.token_hex(4)
        self.clients[client] = sent["redirect_uris"]
        return sent | {"client_id": client}

    def login(self, query: dict[str, str]) -> str:
        """Return where the browser is redirected after the user has decided."""
        assert query["redirect_uri"] in self.clients[query["client_id"]] and query["code_challenge_method"] == "S256"
        assert query["resource"] == self.mcp and query["scope"] == "tools"
        if self.refuses:
            return f"{query['redirect_uri']}?{urlencode({'error': 'access_denied', 'state': query['state']})}"
        code = secrets.token_hex(8)
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, form: dict[str, str]) -> dict[str, Any] | None:
        """Return new tokens, or None if the request is not valid. A refresh token can be used once."""
        if form["grant_type"] == "authorization_code":
            asked = self.codes.pop(form["code"], None)
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            if asked is None or base64.urlsafe_b64encode(digest).decode().rstrip("=") != asked["code_challenge"]:
                return None
        elif form["refresh_token"] not in self.refresh_tokens:
            return None
        else:
            self.refresh_tokens.discard(form["refresh_token"])
        access, refresh = secrets.token_hex(8), secrets.token_hex(8)
        self.tokens.add(access)
        self.refresh_tokens.add(refresh)
        return {
            "access_token": access, "token_type": "Bearer", "expires_in": self.expires_in, "refresh_token": refresh,
        }  # fmt: skip

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Return the result of an MCP request; None for a notification."""
        match message.get("method"):
            case "initialize":
                info = {"name": "greeter", "version": "1"}
                version = message["params"]["protocolVersion"]
                return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                return {"tools": [TOOL]}
            case "tools/call":
                return {"content": [{"type": "text", "text": "Hello."}]}
            case _:
                return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: OAuthServer

    def log_message(self, *_args: object) -> None: ...

    def reply(self, status: int, value: object = None, **headers: str) -> None:
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, text in ({"Content-Type": "application/json"} | headers).items():
            self.send_header(name.replace("_", "-"), text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self.state.requests.append(parts.path)
        if parts.path == "/login":
            query = {name: each[0] for name, each in parse_qs(parts.query).items()}
            self.reply(302, Location=self.state.login(query))
        elif metadata := self.state.metadata(parts.path):
            self.reply(200, metadata)
        else:
            self.reply(405 if parts.path == "/mcp" else 404)

    def do_DELETE(self) -> None:
        self.reply(200)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path == "/register":
            self.state.requests.append(self.path)
            self.reply(201, self.state.register(json.loads(body)))
        elif self.path == "/oauth/token":
            form = {name: each[0] for name, each in parse_qs(body.decode()).items()}
            self.state.requests.append(f"{self.path} {form['grant_type']}")
            tokens = self.state.token(form)
            self.reply(200 if tokens else 400, tokens or {"error": "invalid_grant"})
        elif self.headers.get("Authorization", "").removeprefix("Bearer ") not in self.state.tokens:
            where = f'Bearer resource_metadata="{self.state.url}/.well-known/oauth-protected-resource/mcp"'
            self.reply(401, WWW_Authenticate=where)
        else:
            message = json.loads(body)
            if (result := self.state.answer(message)) is not None:
                self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})
            elif "id" in message:
                error = {"code": -32601, "message": "unknown method"}
                self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "error": error})
            else:
                self.reply(202)


@contextmanager
def oauth_server() -> Iterator[OAuthServer]:
    state = OAuthServer()

    handler = type("Handler", (_Handler,), {"state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
