"""Imported transcripts of other agents are complete, without duplicates, in order, nested and read-only."""

import asyncio
import json
import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from app.process.services import build_services
from core.domain.events import (
    CallStarted,
    FileChanged,
    Replied,
    RunStarted,
    SubagentStarted,
    ToolReturned,
    UntrustedContentRead,
    UserMessage,
)
from core.domain.import_events import TranscriptImported, UnrecognizedRecordsKept
from core.domain.permissions import PermissionRequest, PermissionRequested
from core.domain.problems import Problem
from core.domain.question import Answer, Question, QuestionAsked
from core.domain.text import Text
from core.exchange.importers.registry import IMPORTERS
from core.exchange.transcript_finder import find_transcripts
from tests.core.exchange.home import Home, home
from tests.sessions import create_session

FOREIGN = Path(__file__).parents[2] / "golden" / "foreign"
CLAUDE = FOREIGN / "claude-code" / "7f3a1c52-0000-4000-8000-000000000001.jsonl"
OLDER = FOREIGN / "claude-code" / "7f3a1c52-0000-4000-8000-000000000002.jsonl"
PI = FOREIGN / "pi" / "2026-11-02T10-00-00-000Z_aaaaaaaa-1111-4222-8333-444444444444.jsonl"
GEMINI = FOREIGN / "gemini-cli" / "session-2026-11-02T10-00-bbbbbbbb.jsonl"
COPILOT = FOREIGN / "copilot-cli" / "events.jsonl"
CLINE = FOREIGN / "cline" / "1793613600000_aaaaa.messages.json"
CODEX = next((FOREIGN / "codex").glob("rollout-*.jsonl"))
KIMI = FOREIGN / "kimi" / "wire.jsonl"
KIMI_CODE = next((FOREIGN / "kimi" / "sessions").glob("*/*/agents/main/wire.jsonl"))
DROID = FOREIGN / "droid" / "22222222-2222-4333-8444-555555555555.jsonl"
AIDER = FOREIGN / "aider" / ".aider.chat.history.md"
AMP = FOREIGN / "amp" / "T-11111111-2222-4333-8444-555555555555.json"
CLINE_TASK = next((FOREIGN / "cline").glob("globalStorage/*/tasks/*/ui_messages.json"))
ROO = FOREIGN / "roo-code" / "5b1d9f0a-0000-4000-8000-000000000001" / "ui_messages.json"


class Holds(NamedTuple):
    """What a sample contains, counted by hand over all its sessions."""

    agent: str
    path: Path
    sessions: int
    words: int
    replies: int
    calls: int
    results: int
    failed: int
    input: int
    output: int
    kept: int


SAMPLES = (
    Holds("Codex", CODEX, 1, 1, 2, 1, 1, 0, 270, 18, 4),
    Holds("Codex", FOREIGN / "codex" / "exec.jsonl", 1, 0, 2, 1, 1, 1, 270, 18, 0),
    Holds("Codex", FOREIGN / "codex" / "early.jsonl", 1, 1, 2, 1, 1, 0, 0, 0, 0),
    Holds(
        "Qwen Code", FOREIGN / "qwen-code" / "11111111-2222-4333-8444-555555555555.jsonl", 1, 1, 3, 2, 2, 1, 450, 34, 2
    ),
    Holds("pi", PI, 1, 4, 5, 3, 3, 1, 485, 32, 1),
    Holds("Gemini CLI", GEMINI, 1, 1, 2, 2, 2, 1, 260, 33, 1),
    Holds("Gemini CLI", GEMINI.with_name("session-2026-11-02T10-00-cccccccc.json"), 1, 1, 2, 1, 1, 0, 260, 28, 0),
    Holds("Copilot CLI", COPILOT, 1, 1, 2, 2, 2, 1, 260, 28, 1),
    Holds("Copilot CLI", COPILOT.with_name("eeeeeeee-1111-4222-8333-444444444444.jsonl"), 1, 1, 2, 2, 2, 1, 260, 28, 1),
    Holds("Cline", CLINE, 1, 1, 2, 2, 2, 1, 260, 28, 0),
    Holds("Roo Code", ROO, 1, 1, 3, 2, 2, 1, 420, 34, 0),
    Holds(
        "Roo Code", FOREIGN / "roo-code" / "1793000000000" / "api_conversation_history.json", 1, 2, 3, 3, 2, 1, 0, 0, 0
    ),
    Holds("Cline (editor)", CLINE_TASK, 1, 1, 2, 2, 1, 0, 300, 20, 0),
    Holds("Kimi", KIMI, 2, 3, 5, 3, 3, 1, 450, 28, 2),
    Holds("Kimi", KIMI_CODE, 1, 1, 2, 2, 2, 1, 260, 18, 1),
    Holds("Kimi", FOREIGN / "kimi" / "old" / "context.jsonl", 1, 1, 2, 1, 1, 0, 0, 0, 0),
    Holds("Droid", DROID, 1, 1, 2, 2, 2, 1, 260, 18, 2),
    Holds("Amp", AMP, 1, 1, 2, 2, 2, 1, 260, 20, 1),
    Holds("Goose", FOREIGN / "goose" / "sessions.db", 1, 1, 2, 2, 2, 1, 260, 18, 0),
    Holds("Goose", FOREIGN / "goose" / "export.json", 1, 1, 2, 2, 2, 1, 260, 18, 0),
    Holds("Goose", FOREIGN / "goose" / "20250102_100000.jsonl", 1, 1, 2, 2, 2, 1, 0, 0, 0),
    Holds("Hermes", FOREIGN / "hermes" / "export.jsonl", 1, 1, 2, 2, 2, 1, 260, 18, 0),
    Holds("Cursor", FOREIGN / "cursor" / "store.db", 1, 1, 2, 2, 2, 1, 0, 0, 2),
    Holds("Cursor", FOREIGN / "cursor" / "44444444-2222-4333-8444-555555555555.jsonl", 1, 1, 2, 1, 0, 0, 0, 0, 0),
    Holds("Aider", AIDER, 2, 2, 2, 1, 1, 0, 2000, 56, 5),
    Holds("ChatGPT", FOREIGN / "chatgpt" / "conversations.json", 2, 2, 3, 1, 1, 0, 0, 0, 1),
    Holds("Claude.ai", FOREIGN / "claude-ai" / "conversations.json", 2, 2, 3, 1, 1, 0, 0, 0, 0),
    Holds("Slack", FOREIGN / "slack" / "channels.json", 1, 2, 0, 0, 0, 0, 0, 0, 1),
    Holds("Claude Code", CLAUDE, 2, 3, 7, 5, 5, 1, 351, 88, 3),
    Holds("Claude Code", OLDER, 2, 2, 3, 1, 1, 0, 71, 6, 0),
    Holds("ATIF", FOREIGN / "atif" / "trajectory.json", 2, 2, 3, 2, 2, 0, 235, 28, 1),
    Holds("OpenCode", FOREIGN / "opencode" / "export.json", 1, 1, 2, 1, 1, 0, 5160, 33, 0),
    Holds("mini-swe-agent", FOREIGN / "mini-swe-agent" / "new.traj.json", 1, 1, 2, 2, 2, 1, 100, 18, 1),
    Holds("mini-swe-agent", FOREIGN / "mini-swe-agent" / "old.traj.json", 1, 1, 2, 1, 1, 0, 0, 0, 1),
    Holds("mini-swe-agent", FOREIGN / "mini-swe-agent" / "oldest.traj.json", 1, 1, 3, 2, 2, 1, 0, 0, 1),
    Holds("mini-swe-agent", FOREIGN / "mini-swe-agent" / "response.traj.json", 1, 2, 3, 2, 2, 1, 370, 30, 1),
    Holds("SWE-agent", FOREIGN / "swe-agent" / "mend.traj", 1, 1, 2, 2, 2, 0, 0, 0, 2),
    Holds("SWE-agent", FOREIGN / "swe-agent" / "history.traj", 1, 1, 2, 2, 2, 0, 0, 0, 1),
    Holds("Inspect", FOREIGN / "inspect" / "log.eval", 1, 1, 2, 1, 1, 0, 22, 14, 0),
    Holds("Inspect", FOREIGN / "inspect" / "older.json", 2, 2, 2, 0, 0, 0, 26, 4, 0),
    Holds("OpenTelemetry", FOREIGN / "opentelemetry" / "pydantic-ai.json", 1, 1, 2, 1, 1, 0, 132, 26, 1),
    Holds("OpenHands", FOREIGN / "openhands" / "conv1", 1, 1, 2, 1, 1, 0, 0, 0, 2),
    Holds("OpenHands", FOREIGN / "openhands" / "first.json", 1, 1, 2, 1, 1, 0, 0, 0, 1),
    Holds("OpenHands", FOREIGN / "openhands" / "events.jsonl", 1, 1, 2, 1, 1, 0, 0, 0, 2),
    Holds("OpenHands", FOREIGN / "openhands" / "output.jsonl", 2, 2, 4, 2, 2, 1, 300, 40, 1),
)


async def held(made: Home, sessions: tuple[str, ...]) -> tuple[int, ...]:
    """Count the same figures in the imported sessions."""
    events = [event for name in sessions for event in await made.events(name)]
    replies = [event for event in events if isinstance(event, Replied)]
    results = [event for event in events if isinstance(event, ToolReturned)]
    return (
        len(sessions), sum(isinstance(e, UserMessage) for e in events), len(replies),
        sum(len(e.calls) for e in replies), len(results), sum(e.failed for e in results),
        sum(e.usage.input for e in replies), sum(e.usage.output for e in replies),
        sum(e.count for e in events if isinstance(e, UnrecognizedRecordsKept)),
    )  # fmt: skip


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.agent} {sample.path.name[-12:]}")
def test_a_sample_is_imported_completely_and_once(sample: Holds, tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            brought = await made.exchange.import_file(sample.path)
            assert brought.agent == sample.agent
            assert await held(made, brought.sessions) == sample[2:]
            for name in brought.sessions:
                row = made.reader.session(name)
                assert row and row.imported_from.startswith(f"{sample.agent}:") and row.status in {"done", "stopped"}
                started = {e.call_id for e in await made.events(name) if isinstance(e, CallStarted)}
                returned = {e.call_id for e in await made.events(name) if isinstance(e, ToolReturned)}
                assert returned <= started and (returned == started or sample.results < sample.calls)
            again = await made.exchange.import_file(sample.path)
            assert again.added_events == 0 and again.sessions[0] in brought.sessions
            assert await held(made, brought.sessions) == sample[2:]
            assert not made.reader.questions() and not made.reader.permission_requests()

    asyncio.run(main())


def test_every_importer_has_a_sample() -> None:
    assert {sample.agent for sample in SAMPLES} == {importer.agent for importer in IMPORTERS}


@pytest.mark.parametrize("path", [CLAUDE, OLDER], ids=["files", "between the lines"])
def test_sub_agents_are_nested_under_their_call(path: Path, tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            top, below = (await made.exchange.import_file(path)).sessions
            row = made.reader.session(below)
            assert row and row.parent == top and row.depth == 1 and row.subagent in {"checker", "counter"}
            told = [e for e in await made.events(top) if isinstance(e, SubagentStarted)]
            assert [(e.child_session, e.call_id) for e in told] == [(below, row.parent_call)] and row.parent_call

    asyncio.run(main())


def test_an_edit_in_the_transcript_is_a_file_change(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            top = (await made.exchange.import_file(CLAUDE)).session
            (changed,) = [e for e in await made.events(top) if isinstance(e, FileChanged)]
            assert (made.reader.blob(changed.before), made.reader.blob(changed.after)) == (
                b'print("helo")\n', b'print("hello")\n'
            )  # fmt: skip
            assert (changed.added, changed.removed) == (1, 1)

    asyncio.run(main())


def test_an_edit_without_its_result_is_a_change_of_the_replaced_text(tmp_path: Path) -> None:
    path = tmp_path / CLAUDE.name
    lines = [json.loads(line) for line in CLAUDE.read_text().splitlines()]
    for line in (line for line in lines if isinstance(line, dict)):
        line.pop("toolUseResult", None)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            top = (await made.exchange.import_file(path)).session
            (changed,) = [e for e in await made.events(top) if isinstance(e, FileChanged)]
            assert b"helo" in made.reader.blob(changed.before) and b"hello" in made.reader.blob(changed.after)
            assert (changed.added, changed.removed) == (1, 1)

    asyncio.run(main())


@pytest.mark.parametrize(
    "path",
    [CLAUDE, CODEX, OLDER, PI, GEMINI, COPILOT],
    ids=["Claude Code", "Codex", "between the lines", "pi", "Gemini CLI", "Copilot CLI"],
)
def test_a_file_that_grew_adds_only_what_is_new(path: Path, tmp_path: Path) -> None:
    """Import a file truncated after or within each line, then completely: the result equals a single import."""

    whole = path.read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == 10]

    async def main() -> None:
        async with home(tmp_path / "one" / "a.db") as one:
            at_once = await held(one, (await one.exchange.import_file(path)).sessions)
        for number, end in enumerate(ends[:-1]):
            grown = tmp_path / str(number) / path.name
            grown.parent.mkdir()
            grown.write_bytes(whole[: end + 15 * (number % 2)])
            async with home(tmp_path / f"{number}.db") as made:
                try:
                    first = (await made.exchange.import_file(grown)).sessions
                except Problem:  # there is no message yet, or the format cannot be detected
                    first = ()
                before = [await made.entries(name) for name in first]
                grown.write_bytes(whole)
                if (beside := path.with_suffix("")).is_dir():
                    shutil.copytree(beside, grown.with_suffix(""))
                sessions = (await made.exchange.import_file(grown)).sessions
                names = tuple(dict.fromkeys((*first, *sessions)))
                found = await held(made, names)
                # A reply that is truncated between two of its lines is imported as two.
                assert (found[:2], found[3:]) == (at_once[:2], at_once[3:]) and found[2] - at_once[2] in {0, 1}
                for name, entries in zip(first, before, strict=True):
                    assert (await made.entries(name))[: len(entries)] == entries

    asyncio.run(main())


def test_a_changed_file_is_not_taken_for_a_longer_one(tmp_path: Path) -> None:
    path = Path(shutil.copy(CLAUDE, tmp_path))
    changed = path.read_bytes().replace(b"Mend the greeting", b"Bend the greeting")

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            session = (await made.exchange.import_file(path)).session
            before = await made.entries(session)
            await asyncio.to_thread(path.write_bytes, changed)
            with pytest.raises(Problem, match="has changed since"):
                await made.exchange.import_file(path)
            assert await made.entries(session) == before

    asyncio.run(main())


STRANGE: dict[str, Callable[[list[str]], list[str]]] = {
    "an order of its own": lambda lines: [lines[1], *reversed(lines)],
    "gaps": lambda lines: lines[1::2],
    "ids of others": lambda lines: [line.replace("toolu_", "other_", 1) if n % 2 else line
                                    for n, line in enumerate(lines)],
    "a newer version": lambda lines: [line.replace('"type": "assistant"', '"type": "dream"') for line in lines],
    "other types": lambda lines: [line.replace('"content": ', '"content": 7, "x": ') for line in lines],
    "markup": lambda lines: [line.replace("Mended", "</pre><script>x</script>\\u001b[31m\\u202e") for line in lines],
    "no JSON": lambda lines: [*lines, "{", "[" * 50_000, '"\\ud800"', "null", "7", "{}"],
}  # fmt: skip


@pytest.mark.parametrize("name", STRANGE)
def test_unknown_records_are_kept_and_counted(name: str, tmp_path: Path) -> None:
    """Cases B20 and B21."""

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            lines = STRANGE[name](CLAUDE.read_text().splitlines())
            path = tmp_path / "strange.jsonl"
            path.write_text("\n".join(lines) + "\n")
            session = (await made.exchange.import_file(path)).session
            events = await made.events(session)
            read = [event for event in events if isinstance(event, TranscriptImported)][-1]
            assert read.records == len(lines)
            assert sum(read.unrecognized.values()) == sum(
                event.count for event in events if isinstance(event, UnrecognizedRecordsKept)
            )
            row = made.reader.session(session)
            assert row and row.status in {"done", "stopped"}
            page = await made.export_text(session, "html")
            assert "<script" not in page and "\x1b" not in page and "\u202e" not in page

    asyncio.run(main())


def test_files_of_unknown_format_are_refused(tmp_path: Path) -> None:
    """Including case B23."""

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            (tmp_path / "words.txt").write_text("hello")
            (tmp_path / "empty.jsonl").write_text("")
            (tmp_path / "log.eval").write_bytes(b"PK\x03\x04broken")
            (tmp_path / "half.json").write_text('{"schema_version": "ATIF-v1.8", "steps": [')
            for name, words in (
                ("words.txt", "Its format is unknown"), ("empty.jsonl", "It is empty"),
                ("a.db", "SQLite database"), ("log.eval", "ZIP archive is damaged"), ("half.json", "Line 1"),
                ("nowhere.json", "cannot be read"),
            ):  # fmt: skip
                with pytest.raises(Problem, match=words):
                    await made.exchange.import_file(tmp_path / name)
            assert made.reader.sessions() == []

    asyncio.run(main())


def test_an_imported_session_is_read_only_and_its_fork_trusts_nothing(tmp_path: Path) -> None:
    """Questions and permissions of an imported session have no effect, neither in it nor in a fork."""

    async def main() -> None:
        async with home(tmp_path / "from" / "a.db") as made:
            session = await create_session(made.journal, str(tmp_path), "From elsewhere")
            request = PermissionRequest("q-may", "r1c1", "run", "rm -rf /", "/", "verified", "f")
            await made.journal.append(
                session, UserMessage(Text("go")), RunStarted("scripted", mode="auto", allow=("run",)),
                QuestionAsked(Question("q", "May I?"), "r1c1"), PermissionRequested(request),
            )  # fmt: skip
            path = (await made.exchange.export(session, "json", tmp_path / "x.journeyman.json")).path
        services = await build_services(tmp_path / "to", lambda error: None)
        try:
            engine = services.engine
            await engine.exchange.import_file(path)
            assert not engine.open_questions() and not engine.permission_requests()
            row = engine.session(session)
            assert row.status == "stopped" and row.pending_requests == 0
            acts = (
                lambda: engine.answer("q", Answer(text="yes")), lambda: engine.allow("q-may"),
                lambda: engine.send_message(session, "yes, do it"), lambda: engine.resume(session),
                lambda: engine.set_mode(session, "auto"), lambda: engine.choose_model(session, "scripted"),
                lambda: engine.compact_context(session), lambda: engine.stop(session),
            )  # fmt: skip
            for act in acts:
                with pytest.raises(Problem):
                    await act()
            fork = await engine.history.fork(session)
            facts = [entry.event async for entry in engine.events(fork)]
            (start,) = [event for event in facts if isinstance(event, RunStarted)]
            assert (start.mode, start.allow, start.untrusted_sources) == ("ask", (), ("import: Journeyman",))
            assert engine.session(fork).imported_from == "" and engine.session(fork).mode == "ask"
            assert not engine.permission_requests()
            sources = [event.source for event in facts if isinstance(event, UntrustedContentRead)]
            assert sources == ["import: Journeyman"], "that of the fork itself, none of the transcript"
        finally:
            await services.close()

    asyncio.run(main())


def test_nothing_is_learned_from_imported_sessions(tmp_path: Path) -> None:
    async def main() -> None:
        services = await build_services(tmp_path, lambda error: None)
        try:
            await services.engine.exchange.import_file(CLAUDE)
        finally:
            await services.close()

    asyncio.run(main())
    with closing(sqlite3.connect(tmp_path / "journeyman.db")) as db:
        assert db.execute("SELECT count(*) FROM session").fetchone() == (2,)
        assert db.execute("SELECT count(*) FROM memory").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM memory_use").fetchone() == (0,)


def test_a_crash_during_an_import_leaves_no_active_run(tmp_path: Path) -> None:
    async def main() -> None:
        tmp_path.joinpath("home").mkdir()
        lines = CLAUDE.read_text().splitlines(keepends=True)
        services = await build_services(tmp_path / "home", lambda error: None)
        session = (await services.engine.exchange.import_file(CLAUDE)).session
        await services.close()
        async with home(tmp_path / "home" / "journeyman.db") as made:
            await made.journal.append(session, RunStarted("m"))  # the state after a crash
        services = await build_services(tmp_path / "home", lambda error: None)
        try:
            assert services.engine.session(session).status == "stopped" and len(lines) == 18
        finally:
            await services.close()

    asyncio.run(main())


def test_the_export_of_a_chat_service_is_imported_as_a_zip(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            for agent, name in (("ChatGPT", "chatgpt"), ("Claude.ai", "claude-ai"), ("Slack", "slack")):
                unpacked = FOREIGN / name
                packed = tmp_path / f"{name}.zip"
                with zipfile.ZipFile(packed, "w") as archive:
                    for file in sorted(unpacked.rglob("*.json")):
                        archive.write(file, file.relative_to(unpacked))
                brought = await made.exchange.import_file(packed)
                assert brought.agent == agent
                counted = await held(made, brought.sessions)
                assert counted in [sample[2:] for sample in SAMPLES if sample.agent == agent]
                assert (await made.exchange.import_file(packed)).added_events == 0
            await made.exchange.index_backlog()
            found = made.reader.search("the page")
            assert [hit.kind for hit in found] == ["user_message"]

    asyncio.run(main())


@pytest.mark.parametrize("timestamp", ["soon", ["1700000000"], True, "nan"])
def test_a_slack_message_with_a_malformed_time_is_imported(timestamp: object, tmp_path: Path) -> None:
    channel = tmp_path / "general"
    channel.mkdir()
    (tmp_path / "channels.json").write_text('[{"id": "C1", "name": "general"}]', "utf-8")
    (tmp_path / "users.json").write_text('[{"id": "U1", "name": "ada"}]', "utf-8")
    message = {"type": "message", "user": "U1", "text": "The reef is near.", "ts": timestamp}
    (channel / "2026-01-01.json").write_text(json.dumps([message]), "utf-8")

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            brought = await made.exchange.import_file(tmp_path / "channels.json")
            messages = [event for event in await made.events(brought.sessions[0]) if isinstance(event, UserMessage)]
            assert ["The reef is near." in str(event.text) for event in messages] == [True]

    asyncio.run(main())


def test_a_zip_of_something_else_is_refused(tmp_path: Path) -> None:
    packed = tmp_path / "other.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("notes.txt", "nothing")

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            with pytest.raises(Problem, match="cannot be imported"):
                await made.exchange.import_file(packed)
            packed.write_bytes(packed.read_bytes()[:20])
            with pytest.raises(Problem, match="cannot be imported"):
                await made.exchange.import_file(packed)

    asyncio.run(main())


def test_transcripts_of_other_agents_on_this_computer_are_found(tmp_path: Path) -> None:
    place = tmp_path / ".claude" / "projects" / "-home-ada"
    place.mkdir(parents=True)
    shutil.copy(CLAUDE, place)
    other = tmp_path / ".codex" / "sessions" / "2026" / "11" / "22"
    other.mkdir(parents=True)
    shutil.copy(CODEX, other)
    assert {(each.agent, each.path.name) for each in find_transcripts(tmp_path)} == {
        ("Claude Code", CLAUDE.name), ("Codex", CODEX.name)
    }  # fmt: skip
    assert all(json.loads(each.path.read_text().splitlines()[0]) for each in find_transcripts(tmp_path))


def test_a_message_with_only_an_image_is_imported_from_cline(tmp_path: Path) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    messages = [{"role": "user", "content": [{"type": "image", "source": source}]}]
    path = tmp_path / "a.messages.json"
    path.write_text(json.dumps({"sessionId": "a", "origin": "cli", "agent": "act", "messages": messages}))

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            (session,) = (await made.exchange.import_file(path)).sessions
            (message,) = [event for event in await made.events(session) if isinstance(event, UserMessage)]
            assert [(file.name, file.media_type) for file in message.attachments] == [("image 1", "image/png")]

    asyncio.run(main())
