"""A real MCP server with elicitation: python asking.py [old] [http]; it requires the key in KEY, if set.

`old` rejects the protocol of 2026, so that elicitation uses separate requests from the server.
"""

import asyncio
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

import uvicorn
from mcp import MCPError, UrlElicitationRequiredError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, MCPServer, Resolve
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp_types import METHOD_NOT_FOUND, ElicitRequestURLParams
from pydantic import BaseModel, Field

PAGE = "https://login.example.org/here?state=1"
opened: list[str] = []


async def refuse_new(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    if ctx.method == "server/discover":
        raise MCPError(METHOD_NOT_FOUND, "no such method")
    return await call_next(ctx)


server = MCPServer("asking", middleware=[refuse_new] if "old" in sys.argv else [], log_level="WARNING")


class Who(BaseModel):
    name: str = Field(title="Name", min_length=2)
    age: int = Field(default=30, title="Age", ge=1, le=150)
    size: Literal["small", "large"] = Field(title="Size")
    news: bool = Field(title="News", description="Send the news.")


class Word(BaseModel):
    word: str = Field(title="Word")


def ask_who() -> Elicit[Who]:
    return Elicit("Who are you?", Who)


def ask_word() -> Elicit[Word]:
    return Elicit("Which word?", Word)


@server.tool(description="Asks who you are.")
def greet(who: Annotated[ElicitationResult[Who], Resolve(ask_who)]) -> str:
    if who.action != "accept":
        return f"It was: {who.action}."
    return f"{who.data.name}, {who.data.age}, {who.data.size}, {who.data.news}."


@server.tool(description="Asks for a word, and dies if it is die.")
def word(said: Annotated[Word, Resolve(ask_word)]) -> str:
    if said.word == "die":
        os._exit(3)
    return f"The word is {said.word}."


@server.tool(description="Asks for a word, and dies without waiting for it.")
async def leave(context: Context) -> str:
    asyncio.get_running_loop().call_later(0.3, os._exit, 3)
    await context.elicit("Which word?", Word)
    return "never"


@server.tool(description="Wants a page looked at.")
async def page(context: Context, url: str = PAGE) -> str:
    return f"The page: {(await context.elicit_url('Log in there.', url, 'one')).action}."


@server.tool(description="Wants a page looked at before it does anything.")
async def login() -> str:
    if not opened:
        opened.append(PAGE)
        raise UrlElicitationRequiredError(
            [ElicitRequestURLParams(message="Log in first.", url=PAGE, elicitation_id="one")]
        )
    return "Logged in."


@server.tool(description="Counts, and tells how far it is.")
async def count(context: Context, to: int) -> str:
    for number in range(1, to + 1):
        await context.report_progress(number, to, f"number {number}")
    return f"Counted to {to}."


@server.tool(description="Says the word.")
def echo(word: str) -> str:
    return word


@server.tool(description="From now on `echo` is described so.")
def describe(words: str) -> str:
    server._tool_manager._tools["echo"].description = words
    return "Done."


@server.resource("notes://today", description="What is to be done today.")
def today() -> str:
    return "Water the plants."


@server.prompt(description="Ask for a summary.")
def summary(about: str, length: str = "short") -> str:
    return f"Write a {length} summary of {about}."


def keyed(app: Callable[..., Awaitable[None]], key: str) -> Callable[..., Awaitable[None]]:
    """Return status 401 for requests without the key."""

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and dict(scope["headers"]).get(b"authorization") != key.encode():
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await app(scope, receive, send)

    return guarded


def serve() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    app: Any = server.streamable_http_app()
    if key := os.environ.get("KEY"):
        app = keyed(app, key)
    sys.stdout.write(f"listening on http://127.0.0.1:{listening.getsockname()[1]}/mcp\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on")).run(sockets=[listening])


async def serve_old() -> None:
    """Serve over standard input and output, with the old handshake only."""
    async with stdio_server() as (read, write):
        await serve_loop(server._lowlevel_server, read, write, lifespan_state={})


if __name__ == "__main__":
    if "http" in sys.argv:
        serve()
    elif "old" in sys.argv:
        asyncio.run(serve_old())
    else:
        server.run("stdio")
