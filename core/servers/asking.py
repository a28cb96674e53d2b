"""What a tool server asks in the middle of a call: put to the person as a question that says who asks."""

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from core.domain.question import Answer, Question
from core.servers.forms import Form, form_of, page_question, unfit

if TYPE_CHECKING:
    from mcp_types import ElicitRequestParams, ElicitResult, ErrorData

Ask = Callable[[Question], Awaitable[Answer]]
TRIES = 5  # of a form that was filled in wrongly
MOST = 20  # questions of one call; further ones are not put to anybody
DONE, NOT_DONE = "It is done: call again", "Leave it"


class Asking:
    """The questions of one call. `clock` is the call's own, which stands still while a person thinks."""

    def __init__(self, server: str, ask: Ask | None, clock: asyncio.Timeout, patience_s: float) -> None:
        self._server, self._ask = server, ask
        self._clock, self._patience_s = clock, patience_s
        self._asked: Counter[str] = Counter()
        self._open: set[asyncio.Timeout] = set()
        self._ended = False

    def alive(self) -> None:
        """The server is at work: its time begins anew, unless a person is thinking."""
        if not self._open and not self._ended:
            self._clock.reschedule(asyncio.get_running_loop().time() + self._patience_s)

    def end(self) -> None:
        """The call is over: nobody waits for an answer any more."""
        self._ended = True
        for each in self._open:
            each.reschedule(0)

    async def elicit(self, params: "ElicitRequestParams") -> "ElicitResult | ErrorData":
        """Of a form or a page that the server wants looked at."""
        from mcp_types import INVALID_PARAMS, ElicitRequestURLParams, ElicitResult, ErrorData

        if isinstance(params, ElicitRequestURLParams):
            if why := unfit(params.url):
                return ErrorData(code=INVALID_PARAMS, message=why)
            return ElicitResult(action=await self._page(params.message, params.url))
        form = form_of(self._server, params.message, params.requested_schema)
        if isinstance(form, str):
            return ErrorData(code=INVALID_PARAMS, message=form)
        action, content = await self._filled(form)
        return ElicitResult.model_validate({"action": action, "content": content})

    async def pages(self, wanted: Sequence[tuple[str, str]]) -> bool:
        """Pages to be looked at before a call can be made, each with why; whether it is worth another try."""
        for message, url in wanted:
            if unfit(url) or await self._page(message, url) != "accept":
                return False
        done = await self._answer(page_question(self._server, "Is it done?", "", (DONE, NOT_DONE)))
        return done is not None and done.option == DONE

    async def _page(self, message: str, url: str) -> str:
        answer = await self._answer(page_question(self._server, message, url))
        return "cancel" if answer is None else "accept" if answer.option else "decline"

    async def _filled(self, form: Form) -> tuple[str, dict[str, Any] | None]:
        """A form, until it is filled in rightly."""
        wrong = ""
        for _ in range(TRIES):
            answer = await self._answer(form.question(wrong))
            if answer is None:
                return "cancel", None
            if answer.declined:
                return "decline", None
            content, wrong = form.content(answer)
            if not wrong:
                return "accept", content
        return "cancel", None

    async def _answer(self, question: Question) -> Answer | None:
        """The person's; None where nobody gave one, or nobody waits for it any more."""
        if self._ask is None or self._ended or self._asked.total() >= MOST:
            return None
        key = _digest(question)
        self._asked[key] += 1
        self._clock.reschedule(None)
        limit = asyncio.timeout(None)
        try:
            async with limit:
                self._open.add(limit)
                answer = await self._ask(replace(question, id=f"{key}{self._asked[key]}"))
        except TimeoutError:
            return None
        finally:
            self._open.discard(limit)
            self.alive()
        return None if answer.expired else answer


def _digest(question: Question) -> str:
    """The same words have the same name, also when the call is made again after a crash: then the answer is there."""
    parts = [(part.text, [option.label for option in part.options]) for part in question.forms()]
    plain = json.dumps([question.text, question.why, question.url, parts])
    return hashlib.sha256(plain.encode()).hexdigest()[:6]
