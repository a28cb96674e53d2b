"""One side of a JSON-RPC connection with one message per line, robust against malformed input."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from core.domain.problems import Problem

MAX_LINE_BYTES = 32 << 20  # maximum length of a line, which is one message
MAX_INVALID_LINES = 200  # after so many invalid lines, the connection is closed
# How many invalid lines are answered with an error. Without a limit, two peers could answer each other endlessly.
MAX_ERROR_RESPONSES = 5
MAX_CONCURRENT_REQUESTS = 64  # requests of the other side that are handled at the same time

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REQUEST_CANCELED = -32800
RESOURCE_NOT_FOUND = -32002  # defined by ACP

Params = dict[str, Any]
Write = Callable[[bytes], Awaitable[None]]


class RpcError(Exception):
    """An error response. A handler raises it to answer a request with an error."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class PeerClosed(Exception):
    """Raised when the connection has ended or the other side violates the protocol. The message is the reason."""


class JsonRpcPeer:
    """A JSON-RPC peer. Incoming requests run concurrently; notifications are handled in order, one at a time.

    `on_request` handles a request (method and parameters) and returns its result; `on_notification` a notification.

    Attributes:
        bytes_received: the size of all lines so far.
    """

    def __init__(
        self,
        write: Write,
        on_request: Callable[[str, Params], Coroutine[Any, Any, object]],
        on_notification: Callable[[str, Params], Coroutine[Any, Any, None]],
    ) -> None:
        self._write = write
        self._on_request = on_request
        self._on_notification = on_notification
        self._next_id = 0
        self._invalid_lines = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._working: dict[int | str, asyncio.Task[None]] = {}
        self._ended: PeerClosed | None = None
        self.bytes_received = 0

    async def request(self, method: str, params: Params) -> Any:
        """Send a request and return its result. Raises `RpcError` or `PeerClosed`."""
        if self._ended:
            raise self._ended
        number = self._next_id
        self._next_id += 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            await self._send({"id": number, "method": method, "params": params})
            return await future
        finally:
            self._waiting.pop(number, None)

    async def notify(self, method: str, params: Params) -> None:
        """Send a notification; it is dropped if the connection has ended."""
        with suppress(PeerClosed):
            await self._send({"method": method, "params": params})

    async def receive(self, line: bytes) -> None:
        """Process a received line. Raises `PeerClosed` if too many lines are invalid."""
        self.bytes_received += len(line)
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            await self._reject_line(PARSE_ERROR, "This line is not valid JSON.")
            return
        match message:
            case {"method": str(method), "id": int() | str() as name}:
                await self._start_request(name, method, _params(message))
            case {"method": str(method)}:
                await self._handle_notification(method, _params(message))
            case {"id": int(number), "result": result}:
                self._resolve(number, result, None)
            case {"id": int(number), "error": dict(error)}:
                self._resolve(number, None, _to_rpc_error(error))
            case {"result": _} | {"error": _}:  # It may respond to an error response of ours, so do not answer it.
                await self._reject_line(0, "")
            case _:
                await self._reject_line(INVALID_REQUEST, "This is not a JSON-RPC message.")

    def end(self, reason: str) -> None:
        """End the connection: pending requests fail with the reason, and handlers are canceled."""
        self._ended = self._ended or PeerClosed(reason)
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(self._ended)
                future.exception()  # Mark it as retrieved, or asyncio would log it if the request was canceled.
        for task in self._working.values():
            task.cancel()

    async def close(self, reason: str) -> None:
        """End the connection and wait until all request handlers have finished."""
        self.end(reason)
        if tasks := list(self._working.values()):
            await asyncio.wait(tasks)

    async def wait_until_idle(self) -> None:
        """Wait until all requests from the other side are answered."""
        while tasks := list(self._working.values()):
            await asyncio.wait(tasks)

    def cancel_requests(self) -> None:
        """Cancel all requests from the other side; they are answered as canceled."""
        for task in self._working.values():
            task.cancel()

    async def _reject_line(self, code: int, message: str) -> None:
        self._invalid_lines += 1
        if self._invalid_lines > MAX_INVALID_LINES:
            raise PeerClosed(f"It printed {MAX_INVALID_LINES} lines that are not protocol messages.")
        if code and self._invalid_lines <= MAX_ERROR_RESPONSES:
            await self._answer_error(None, code, message)

    async def _handle_notification(self, method: str, params: Params) -> None:
        if method != "$/cancel_request":
            await self._on_notification(method, params)
        elif task := self._working.get(_request_id(params.get("requestId", params.get("id")))):
            task.cancel()

    async def _start_request(self, name: int | str, method: str, params: Params) -> None:
        if name in self._working:
            await self._answer_error(name, INVALID_REQUEST, "This id is already in use.")
        elif len(self._working) >= MAX_CONCURRENT_REQUESTS:
            await self._answer_error(name, INTERNAL_ERROR, f"More than {MAX_CONCURRENT_REQUESTS} concurrent requests.")
        else:
            self._working[name] = asyncio.create_task(
                self._handle_request(name, method, params), name=f"answer {method}"
            )

    async def _handle_request(self, name: int | str, method: str, params: Params) -> None:
        try:
            result = await self._on_request(method, params)
        except asyncio.CancelledError:
            with suppress(PeerClosed):
                await self._answer_error(name, REQUEST_CANCELED, "Canceled.")
            return
        except RpcError as error:
            await self._answer_error(name, error.code, error.message, error.data)
        except Problem as problem:
            await self._answer_error(name, INTERNAL_ERROR, str(problem))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            await self._answer_error(name, INVALID_PARAMS, f"{type(error).__name__}: {error}")
        else:
            with suppress(PeerClosed):
                await self._send({"id": name, "result": result})
        finally:
            self._working.pop(name, None)

    async def _answer_error(self, name: int | str | None, code: int, message: str, data: object = None) -> None:
        error: Params = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        with suppress(PeerClosed):
            await self._send({"id": name, "error": error})

    async def _send(self, message: Params) -> None:
        if self._ended:
            raise self._ended
        line = json.dumps({"jsonrpc": "2.0", **message}, default=str)
        try:
            await self._write(line.encode("utf-8", "replace") + b"\n")
        except (OSError, ConnectionError, RuntimeError) as error:
            raise PeerClosed("It no longer reads its input.") from error

    def _resolve(self, number: int, result: Any, error: RpcError | None) -> None:
        future = self._waiting.get(number)
        if future is None or future.done():
            return  # a response to an unknown or finished request
        if error:
            future.set_exception(error)
        else:
            future.set_result(result)


def _params(message: Params) -> Params:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def _request_id(name: object) -> int | str:
    return name if isinstance(name, int | str) else ""


def _to_rpc_error(error: Params) -> RpcError:
    code = error.get("code")
    if not isinstance(code, int):
        code = INTERNAL_ERROR
    return RpcError(code, str(error.get("message", "")), error.get("data"))
