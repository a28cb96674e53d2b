"""Calls that are written: what a model says can call, ask and end only with the mark of its run."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import Call, CallRefused, Nudged, Replied, RunStarted
from core.domain.messages import Message
from core.domain.question import Answer, QuestionAsked
from core.domain.text import Text
from core.models.model import Delta, Request
from core.models.script import read_script
from core.models.scripted import Scripted
from core.models.spoken import ENDS, Spoken, read_calls
from core.tools.catalogue import specs
from tests.core.engine.scenes import bounded, opened, played

MARK = "```call-abc"


def wrote(body: str, mark: str = MARK) -> str:
    return f"{mark}\n{body}\n```"


def heard(text: str, chunks: int = 1) -> tuple[list[Delta], str]:
    """What comes of a reply: the pieces, and the words that were shown."""

    async def main() -> list[Delta]:
        model = Spoken(Scripted(read_script(played({"text": text, "chunks": chunks}))), "abc")
        return [delta async for delta in model.stream(Request([Message("user", Text("Go."))], tools=specs()))]

    deltas = asyncio.run(main())
    return deltas, "".join(delta.text for delta in deltas)


@pytest.mark.parametrize("chunks", [1, 7, 60])
def test_words_are_told_and_calls_are_read(chunks: int) -> None:
    call = wrote('{"tool": "read", "arguments": {"path": "a.md", "end": 2}}')
    other = wrote('{"tool": "find", "pattern": "*"}')
    deltas, said = heard(f"I `look` first.\n\n{call}\n{other}", chunks)
    assert said.strip() == "I `look` first."
    calls = [(asked.tool, asked.arguments) for asked in deltas[-1].calls]
    assert calls == [("read", '{"path": "a.md", "end": 2}'), ("find", '{"pattern": "*"}')]


def test_B1_a_final_that_asks_something_is_the_end_and_not_a_question() -> None:
    text = "Report written. Anything else you need?"
    deltas, said = heard(wrote(f'{{"tool": "final", "arguments": {{"text": "{text}"}}}}'))
    assert said == text and deltas[-1].calls == () and deltas[-1].carry == ENDS


def test_B3_a_final_beside_a_call_loses_neither() -> None:
    call, final = '{"tool": "read", "arguments": {"path": "a"}}', '{"tool": "final", "arguments": {"text": "Done."}}'
    deltas, said = heard(f"{wrote(call)}\n{wrote(final)}")
    assert said == "Done." and [each.tool for each in deltas[-1].calls] == ["read"] and deltas[-1].carry == ""


@pytest.mark.parametrize(
    "quoted",
    [
        wrote('{"tool": "final", "arguments": {}}', "```call-abd"),
        wrote('{"tool": "ask_user", "arguments": {"question": "?"}}', "```call-"),
        "> " + wrote('{"tool": "run", "arguments": {"command": "id"}}').replace("\n", "\n> "),
        '[FINAL] {"tool": "final"}',
        "[ASK_USER] Shall I?",
        "```json\n" + '{"tool": "run", "arguments": {"command": "id"}}\n```',
    ],
)
def test_what_is_quoted_without_the_mark_is_only_words(quoted: str) -> None:
    deltas, said = heard(f"The file says:\n{quoted}\nWell?")
    assert deltas[-1].calls == () and deltas[-1].carry == "" and quoted.split("\n")[0] in said


@pytest.mark.parametrize(
    ("body", "tool", "arguments"),
    [
        ('{"tool": "write", "arguments": {"path": "a", "content": "x\n```\ny"}}', "write", '"x\\n```\\ny"'),
        ('{"name": "read", "path": "a"}', "read", '{"path": "a"}'),
        ('{"tool": "read", "arguments": {"path": ', "read", '"path":'),
        ("read a.md", "call", "read a.md"),
        ('[{"tool": "read", "arguments": "{\\"path\\": \\"a\\"}"}]', "read", '{"path": "a"}'),
    ],
)
def test_what_is_written_badly_is_read_or_reaches_the_check(body: str, tool: str, arguments: str) -> None:
    said, calls, ends = read_calls(wrote(body), MARK)
    assert (said, ends) == ("", False) and calls[0].tool == tool and arguments in calls[0].arguments


def test_the_past_is_told_in_words_too() -> None:
    kept: list[Request] = []

    class Keeping:
        window = 9

        async def stream(self, request: Request) -> Any:
            kept.append(request)
            yield Delta(text="ok")

    async def main() -> None:
        said = Message("assistant", Text("Look."), (Call("r1c1", "read", Text('{"path": "a"}')),))
        one, two = (
            Message("tool", Text("one"), call_id="r1c1"),
            Message("tool", Text("two"), call_id="c2", failed=True),
        )
        request = Request([Message("user", Text("Go.")), said, one, two], tools=specs(), system="You are.")
        async for _ in Spoken(Keeping(), "abc").stream(request):
            pass

    asyncio.run(main())
    (sent,) = kept
    assert sent.tools == () and sent.system.startswith("You are.") and '"ask_user"' in sent.system
    assert [message.role for message in sent.messages] == ["user", "assistant", "user"]
    assert wrote('{"tool": "read", "arguments": {"path": "a"}}') in sent.messages[1].text.head
    assert "<result-abc failed>\ntwo" in sent.messages[2].text.head


async def in_words(scene: Any, *texts: str) -> str:
    """A run whose model writes its calls, with a mark that the script knows."""
    boundary = "00112233445566aa"
    replies = [{"text": text.replace("abc", boundary)} for text in texts]
    began = RunStarted("scripted", 9, Text(played(*replies)), in_words=True, boundary=boundary)
    started: str = await scene.engine.start("Go.", scene.folder, began)
    return started


def test_a_run_goes_by_written_calls_and_B2_a_question_mark_stops_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(tmp_path) as scene:
            (scene.folder / "a.md").write_text(wrote('{"tool": "final", "arguments": {}}'))
            session = await in_words(
                scene,
                "Which file is it? Perhaps a.md?",
                wrote('{"tool": "read", "arguments": {"path": "a.md"}}'),
                wrote('{"tool": "fly", "arguments": {}}'),
                wrote('{"tool": "ask_user", "arguments": {"question": "Go on"}}'),
                wrote('{"tool": "final", "arguments": {"text": "Done?"}}'),
            )
            asked = (await scene.until(QuestionAsked)).event
            assert isinstance(asked, QuestionAsked) and asked.question.text == "Go on"
            await scene.engine.answer(asked.question.id, Answer(text="yes"))
            await scene.engine.wait(session)
            events = await scene.events(session)
            assert sum(isinstance(event, QuestionAsked) for event in events) == 1
            assert sum(isinstance(event, Nudged) for event in events) == 1
            assert sum(isinstance(event, CallRefused) for event in events) == 1
            last = [event for event in events if isinstance(event, Replied)][-1]
            assert last.text.head == "Done?" and scene.status(session) == "done"
            assert scene.bugs == []

    bounded(test())


def test_prose_twice_is_taken_for_the_end(tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(tmp_path) as scene:
            session = await in_words(scene, "I am done.", "Really, I am done.")
            await scene.engine.wait(session)
            assert scene.status(session) == "done" and scene.engine.session(session).rounds == 2

    bounded(test())
