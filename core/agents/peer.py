"""One side of a JSON-RPC connection, a message a line: it asks, answers, tells, and trusts nothing that comes."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from core.domain.problems import Problem

LONGEST = 32 << 20  # bytes of a line
NOISE = 200  # lines that are no messages, until it is clear that this is no such program
ANSWERED = 5  # of those lines: noise that is answered with noise must come to an end
AT_ONCE = 64  # requests of the other side that are worked on
NO_METHOD, BAD_REQUEST, BAD_PARAMS, INTERNAL, CANCELLED = -32601, -32600, -32602, -32603, -32800
NO_JSON, NOT_FOUND = -32700, -32002

Params = dict[str, Any]
Write = Callable[[bytes], Awaitable[None]]


class Refused(Exception):
    """The other side answered a request with an error; raised by a handler, it becomes the error that we answer."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Gone(Exception):
    """The other side has ended, or speaks something else; the message says which."""


class Peer:
    """Requests of the other side run beside each other; what it tells is heard in order, one at a time.

    Attributes:
        asked: answers a request by its method and parameters; `told` hears a notification.
        heard: bytes that came so far.
    """

    def __init__(
        self,
        write: Write,
        asked: Callable[[str, Params], Coroutine[Any, Any, object]],
        told: Callable[[str, Params], Coroutine[Any, Any, None]],
    ) -> None:
        self._write = write
        self._asked = asked
        self._told = told
        self._next = 0
        self._noise = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._working: dict[int | str, asyncio.Task[None]] = {}
        self._ended: Gone | None = None
        self.heard = 0

    async def ask(self, method: str, params: Params) -> Any:
        """What the other side answers. Raises Refused or Gone."""
        if self._ended:
            raise self._ended
        number, self._next = self._next, self._next + 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            await self._send({"id": number, "method": method, "params": params})
            return await future
        finally:
            self._waiting.pop(number, None)

    async def tell(self, method: str, params: Params) -> None:
        """Without an answer; who is gone need not hear it."""
        with suppress(Gone):
            await self._send({"method": method, "params": params})

    async def hear(self, line: bytes) -> None:
        """One line that came. Raises Gone where the other side does not speak the protocol."""
        self.heard += len(line)
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            await self._hear_noise(NO_JSON, "This line is no JSON.")
            return
        match message:
            case {"method": str(method), "id": int() | str() as name}:
                await self._begin(name, method, _params(message))
            case {"method": str(method)}:
                await self._hear_told(method, _params(message))
            case {"id": int(number), "result": result}:
                self._settle(number, result, None)
            case {"id": int(number), "error": dict(error)}:
                self._settle(number, None, _refusal(error))
            case {"result": _} | {"error": _}:  # it may be the answer to an answer of ours, so it gets none
                await self._hear_noise(0, "")
            case _:
                await self._hear_noise(BAD_REQUEST, "This is no message of the protocol.")

    def end(self, why: str) -> None:
        """Nothing comes any more: who waits is told why."""
        self._ended = self._ended or Gone(why)
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(self._ended)
        for task in self._working.values():
            task.cancel()

    async def close(self, why: str) -> None:
        """End, and wait until nothing of ours works for the other side."""
        self.end(why)
        if tasks := list(self._working.values()):
            await asyncio.wait(tasks)

    async def idle(self) -> None:
        """Wait until all that the other side asked is answered."""
        while tasks := list(self._working.values()):
            await asyncio.wait(tasks)

    def drop_requests(self) -> None:
        """What the other side still asks of us is answered as cancelled."""
        for task in self._working.values():
            task.cancel()

    async def _hear_noise(self, code: int, said: str) -> None:
        self._noise += 1
        if self._noise > NOISE:
            raise Gone(f"It printed {NOISE} lines that are no messages of the protocol.")
        if code and self._noise <= ANSWERED:
            await self._answer_error(None, code, said)

    async def _hear_told(self, method: str, params: Params) -> None:
        if method != "$/cancel_request":
            await self._told(method, params)
        elif task := self._working.get(_name(params.get("requestId", params.get("id")))):
            task.cancel()

    async def _begin(self, name: int | str, method: str, params: Params) -> None:
        if name in self._working:
            await self._answer_error(name, BAD_REQUEST, "This id is in use.")
        elif len(self._working) >= AT_ONCE:
            await self._answer_error(name, INTERNAL, f"More than {AT_ONCE} requests at once.")
        else:
            self._working[name] = asyncio.create_task(self._work(name, method, params), name=f"answer {method}")

    async def _work(self, name: int | str, method: str, params: Params) -> None:
        try:
            result = await self._asked(method, params)
        except asyncio.CancelledError:
            with suppress(Gone):
                await self._answer_error(name, CANCELLED, "Cancelled.")
            return
        except Refused as error:
            await self._answer_error(name, error.code, error.message, error.data)
        except Problem as problem:
            await self._answer_error(name, INTERNAL, str(problem))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            await self._answer_error(name, BAD_PARAMS, f"{type(error).__name__}: {error}")
        else:
            with suppress(Gone):
                await self._send({"id": name, "result": result})
        finally:
            self._working.pop(name, None)

    async def _answer_error(self, name: int | str | None, code: int, message: str, data: object = None) -> None:
        more = {} if data is None else {"data": data}
        with suppress(Gone):
            await self._send({"id": name, "error": {"code": code, "message": message, **more}})

    async def _send(self, message: Params) -> None:
        if self._ended:
            raise self._ended
        line = json.dumps({"jsonrpc": "2.0", **message}, default=str)
        try:
            await self._write(line.encode("utf-8", "replace") + b"\n")
        except (OSError, ConnectionError, RuntimeError) as error:
            raise Gone("It does not read any more.") from error

    def _settle(self, number: int, result: Any, error: Refused | None) -> None:
        future = self._waiting.get(number)
        if future is None or future.done():
            return  # an answer to nothing that was asked
        if error:
            future.set_exception(error)
        else:
            future.set_result(result)


def _params(message: Params) -> Params:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def _name(name: object) -> int | str:
    return name if isinstance(name, int | str) else ""


def _refusal(error: Params) -> Refused:
    code = error.get("code")
    return Refused(code if isinstance(code, int) else INTERNAL, str(error.get("message", "")), error.get("data"))
