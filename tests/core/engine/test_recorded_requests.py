"""A request is stored before the model receives it, and the reasoning of a reply with the reply."""

import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path

import pytest

from core.domain.events import Replied, RequestSent
from core.models.model import ReplyDelta, Request
from core.models.scripted_model import ScriptedModel
from core.store.data_folder import DATABASE_FILE
from tests.core.engine.harness import call_reply, open_engine, run_bounded, scripted_replies

REASONING = "First the boiler, 😀 then the damp. " * 5_000  # longer than what an event holds itself


def test_P37_X5_a_request_is_stored_before_it_is_sent_and_reasoning_with_its_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = ScriptedModel.stream
    stored: list[list[str]] = []

    async def observed(model: ScriptedModel, request: Request) -> AsyncGenerator[ReplyDelta, None]:
        with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as other_reader:  # sees only what is committed
            rows = other_reader.execute("SELECT kind FROM event WHERE kind IN ('request_sent', 'replied') ORDER BY id")
            stored.append([kind for (kind,) in rows])
        async for delta in stream(model, request):
            yield delta

    monkeypatch.setattr(ScriptedModel, "stream", observed)

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            first = {"text": "I look.", "reasoning": REASONING, **call_reply("find", pattern="*")}
            session = await scene.run(scripted_replies(first, {"text": "Done.", "reasoning": "Over."}))
            exchange = ["request_sent", "replied"]
            assert stored == [exchange[:1], [*exchange, *exchange[:1]]]
            events = await scene.events(session)
            replies = [event for event in events if isinstance(event, Replied)]
            assert [scene.engine.full_text(reply.reasoning) for reply in replies] == [REASONING, "Over."]
            assert [scene.engine.full_text(reply.text) for reply in replies] == ["I look.", "Done."]
            first_tokens, second_tokens = (event.tokens for event in events if isinstance(event, RequestSent))
            assert {"system", "tools", "user"} <= first_tokens.keys() and "results:find" not in first_tokens
            assert second_tokens["results:find"] > 0 and second_tokens["replies"] > 0

    run_bounded(main())
