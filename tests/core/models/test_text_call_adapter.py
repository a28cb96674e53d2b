"""Tests of text-based tool calls: only blocks with the boundary of the run can call tools, ask or end the run."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import CallRefused, HarnessMessage, Replied, RunStarted, ToolCall
from core.domain.messages import Message
from core.domain.question import Answer, QuestionAsked
from core.domain.text import Text
from core.models.model import ReplyDelta, Request
from core.models.script import parse_script
from core.models.scripted_model import ScriptedModel
from core.models.text_call_adapter import FINAL_STATE, TextCallAdapter, parse_text_calls
from core.tools.argument_check import argument_fault
from core.tools.catalogue import tool_specs
from tests.core.engine.harness import open_engine, run_bounded, scripted_replies

MARK = "```call-abc"


def wrote(body: str, mark: str = MARK) -> str:
    return f"{mark}\n{body}\n```"


def heard(text: str, chunks: int = 1) -> tuple[list[ReplyDelta], str]:
    """Parse a scripted reply; return its deltas and the text that was shown."""

    async def main() -> list[ReplyDelta]:
        model = TextCallAdapter(
            ScriptedModel(parse_script(scripted_replies({"text": text, "chunks": chunks}))), "abc", argument_fault
        )
        return [delta async for delta in model.stream(Request([Message("user", Text("Go."))], tools=tool_specs()))]

    deltas = asyncio.run(main())
    return deltas, deltas[-1].text if deltas[-1].written else "".join(delta.text for delta in deltas)


@pytest.mark.parametrize("chunks", [1, 7, 60])
def test_text_is_passed_on_and_calls_are_parsed(chunks: int) -> None:
    call = wrote('{"tool": "read", "arguments": {"path": "a.md", "end": 2}}')
    other = wrote('{"tool": "find", "pattern": "*"}')
    deltas, said = heard(f"I `look` first.\n\n{call}\n{other}", chunks)
    assert said.strip() == "I `look` first."
    calls = [(asked.tool, asked.arguments) for asked in deltas[-1].calls]
    assert calls == [("read", '{"path": "a.md", "end": 2}'), ("find", '{"pattern": "*"}')]


def test_B1_a_final_answer_with_a_question_mark_ends_the_run() -> None:
    text = "Report written. Anything else you need?"
    deltas, said = heard(wrote(f'{{"tool": "final", "arguments": {{"text": "{text}"}}}}'))
    assert said == text and deltas[-1].calls == () and deltas[-1].provider_state == FINAL_STATE


@pytest.mark.parametrize("text", [wrote('{"tool": "read", "arguments": {"path": "a"}}'), f'{MARK}\n{{"tool": '])
def test_no_call_is_read_from_a_refused_reply(text: str) -> None:
    class Refusing:
        window = 9

        async def stream(self, request: Request) -> AsyncGenerator[ReplyDelta, None]:
            yield ReplyDelta(text)
            yield ReplyDelta(stop_reason="filtered")

    async def main() -> list[ReplyDelta]:
        model = TextCallAdapter(Refusing(), "abc", argument_fault)
        return [delta async for delta in model.stream(Request([Message("user", Text("Go."))], tools=tool_specs()))]

    assert not any(delta.calls or delta.written for delta in asyncio.run(main()))


def test_B3_a_final_answer_beside_a_call_loses_neither() -> None:
    call, final = '{"tool": "read", "arguments": {"path": "a"}}', '{"tool": "final", "arguments": {"text": "Done."}}'
    deltas, said = heard(f"{wrote(call)}\n{wrote(final)}")
    assert said == "Done." and [each.tool for each in deltas[-1].calls] == ["read"] and deltas[-1].provider_state == ""


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
def test_quoted_calls_without_the_marker_are_text(quoted: str) -> None:
    deltas, said = heard(f"The file says:\n{quoted}\nWell?")
    assert deltas[-1].calls == () and deltas[-1].provider_state == "" and quoted.split("\n")[0] in said


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
def test_malformed_calls_are_repaired_or_reach_validation(body: str, tool: str, arguments: str) -> None:
    said, calls, ends = parse_text_calls(wrote(body), MARK)
    assert (said, ends) == ("", False) and calls[0].tool == tool and arguments in calls[0].arguments


class Keeping:
    """A model that keeps the requests."""

    window = 9

    def __init__(self) -> None:
        self.kept: list[Request] = []

    async def stream(self, request: Request) -> AsyncGenerator[ReplyDelta, None]:
        self.kept.append(request)
        yield ReplyDelta(text="ok")


def sent_with(request: Request, boundary: str = "abc") -> Request:
    """Return the request that the model receives."""
    model = Keeping()

    async def main() -> None:
        async for _ in TextCallAdapter(model, boundary, argument_fault).stream(request):
            pass

    asyncio.run(main())
    (sent,) = model.kept
    return sent


def test_earlier_calls_are_sent_as_text_too() -> None:
    said = Message("assistant", Text("Look."), (ToolCall("r1c1", "read", Text('{"path": "a"}')),))
    one, two = (
        Message("tool", Text("one"), call_id="r1c1"),
        Message("tool", Text("two"), call_id="c2", failed=True),
    )
    request = Request([Message("user", Text("Go.")), said, one, two], tools=tool_specs(), system_prompt="You are.")
    sent = sent_with(request)
    assert sent.tools == () and sent.system_prompt.startswith("You are.") and '"ask_user"' in sent.system_prompt
    assert [message.role for message in sent.messages] == ["user", "assistant", "user"]
    assert wrote('{"tool": "read", "arguments": {"path": "a"}}') in sent.messages[1].text.head
    assert "<result-abc failed>\ntwo" in sent.messages[2].text.head


def test_sessions_share_the_tools_as_the_beginning_of_their_prompts() -> None:
    request = Request([Message("user", Text("Go."))], tools=tool_specs(), system_prompt="You are.")
    prompt = sent_with(request, "abc").system_prompt
    shared, _, own = prompt.partition("abc")
    assert sent_with(request, "xyz").system_prompt == prompt.replace("abc", "xyz")
    assert all(tool.description in shared.replace('\\"', '"').replace("\\n", "\n") for tool in request.tools)
    assert len(own) < 700


async def in_words(scene: Any, *texts: str) -> str:
    """Start a run with text-based tool calls, with a boundary known to the script."""
    boundary = "00112233445566aa"
    replies = [{"text": text.replace("abc", boundary)} for text in texts]
    began = RunStarted("scripted", 9, Text(scripted_replies(*replies)), text_calls=True, boundary=boundary)
    started: str = await scene.engine.start("Go.", scene.folder, began)
    return started


def test_a_run_works_by_text_calls_and_B2_a_question_mark_stops_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
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
            await scene.engine.wait_idle(session)
            events = await scene.events(session)
            assert sum(isinstance(event, QuestionAsked) for event in events) == 1
            assert sum(isinstance(event, HarnessMessage) for event in events) == 1
            assert sum(isinstance(event, CallRefused) for event in events) == 1
            last = [event for event in events if isinstance(event, Replied)][-1]
            assert last.text.head == "Done?" and scene.status(session) == "done"
            assert scene.bugs == []

    run_bounded(test())


def test_prose_twice_ends_the_run(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            session = await in_words(scene, "I am done.", "Really, I am done.")
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "done" and scene.engine.session(session).turns == 2

    run_bounded(test())
