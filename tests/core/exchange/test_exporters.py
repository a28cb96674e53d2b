"""Every export format is complete and valid, and without secrets unless the user keeps them."""

import asyncio
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import (
    CallRefused,
    CallStarted,
    FileChanged,
    Replied,
    RequestSent,
    RunEnded,
    RunStarted,
    SessionCreated,
    SessionEvent,
    SubagentEnded,
    SubagentStarted,
    ToolCall,
    ToolReturned,
    Usage,
    UserMessage,
)
from core.domain.question import Answer, Question, QuestionAnswered, QuestionAsked, QuestionOption
from core.domain.redact import Redactor
from core.domain.text import Text
from core.exchange.export_redactor import ExportRedactor
from core.exchange.exporters.export_formats import exporters
from core.store.blobs import blob_hash
from tests.core.exchange.home import Home, home
from tests.sessions import create_session

KEY = "ghp_" + "a1B2c3D4e5" * 4
MINE = "my-own-secret-value"
EVIL = "</pre></details><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31mred\u202e"
CHILD = "chchch22"


def call(id: str, tool: str, **arguments: Any) -> ToolCall:
    return ToolCall(id, tool, Text(json.dumps(arguments)))


async def worked(made: Home) -> str:
    """Create a run with messages, calls of every status, a question, a sub-agent, secrets and markup."""
    session = await create_session(made.journal, "/tmp/here", f"Tidy <b>the</b> folder {KEY}")
    body = f"password = '{MINE}'\n".encode()
    calls = (
        call("r1c1", "run", command=f"curl -H {KEY}"), call("r1c2", "write", path="a.txt", content=KEY),
        call("r1c3", "run", command="rm -rf /"), call("r1c4", "ask_user", question="Which?"),
        call("r1c5", "delegate", task="look"),
    )  # fmt: skip
    facts: list[SessionEvent] = [
        UserMessage(Text(f"Please tidy.\n\n{EVIL}")), RunStarted("m", 9), RequestSent("p/m", 1),
        Replied(Text(f"I **look**.\n\n{EVIL}\n\n![x](file:///etc/passwd) [y](javascript:alert)"), Text("hm"), calls,
                Usage(100, 20, 40, 0, 5), cost=0.25),
        CallStarted("r1c1", "run", "command", f"curl -H {KEY}"),
        ToolReturned("r1c1", Text(EVIL + "x\n" * 5000), True, 2),
        CallStarted("r1c2", "write", "write", "a.txt"), FileChanged("r1c2", "a.txt", "", blob_hash(body), 1, 0),
        ToolReturned("r1c2", Text("ok")), CallRefused("r1c3", "run", Text("never")),
        CallStarted("r1c4", "ask_user", "question", "Which?"),
        QuestionAsked(Question("q1", "Which?", options=(QuestionOption("A"),)), "r1c4"),
        QuestionAnswered("q1", "r1c4", Answer("A")),
        CallStarted("r1c5", "delegate", "delegate", "look"), SubagentStarted("r1c5", CHILD, "helper", Text("look")),
    ]  # fmt: skip
    await made.journal.append(session, *facts, blobs={blob_hash(body): body})
    below: list[SessionEvent] = [
        SessionCreated(CHILD, "/tmp/here", "look", session, "r1c5", "helper", 1), UserMessage(Text("look")),
        RunStarted("m"), RequestSent("p/m", 1), Replied(Text("Seen."), usage=Usage(10, 2)), RunEnded("completed"),
    ]  # fmt: skip
    await made.journal.append(CHILD, *below)
    await made.journal.append(
        session, SubagentEnded("r1c5", CHILD, "completed", 1, 12), ToolReturned("r1c5", Text("Seen.")),
        RequestSent("p/m", 2), Replied(Text("All done."), usage=Usage(200, 3), cost=0.5), RunEnded("completed"),
    )  # fmt: skip
    return session


@pytest.mark.parametrize("form", exporters())
def test_secrets_are_exported_only_on_request(form: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db", [MINE]) as made:
            session = await worked(made)
            told = await made.export_text(session, form)
            assert KEY not in told and MINE not in told
            assert "removed]" in told
            if form != "perfetto":  # it contains only the names of steps
                kept = await made.export_text(session, form, keep_secrets=True)
                assert KEY in kept
                assert form not in {"md", "html", "json"} or "removed]" not in kept

    asyncio.run(main())


def test_a_sample_shows_no_part_of_an_adjacent_secret() -> None:
    key, token = "sk-proj-" + "dE5fG7hJ9kL1maB3" * 3, "ghp_" + "aB3dE5fG7hJ9kL1maB3dE5fG7hJ9kL1maB3d"
    cleaner = ExportRedactor(Redactor())
    cleaned = cleaner.redact_text(f"the key {key} {token} {key}")
    assert cleaner.counts.total() == 3 and "dE5f" not in cleaned
    assert all("dE5f" not in one.context and "removed]" in one.context for one in cleaner.samples)


def test_the_preview_counts_what_an_export_removes(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db", [MINE]) as made:
            session = await worked(made)
            preview = await made.exchange.preview_export(session)
            done = await made.exchange.export(session, "json", tmp_path / "a.journeyman.json")
            assert preview.removed == done.removed
            assert set(preview.removed) == {"GitHub token", "known secret"} or preview.removed["GitHub token"] >= 3
            assert preview.sessions == 2 and preview.events == 27
            assert preview.samples and all(
                KEY not in one.context and MINE not in one.context for one in preview.samples
            )
            assert any("curl -H [GitHub token removed]" in one.context for one in preview.samples)

    asyncio.run(main())


def test_a_clean_export_is_imported_again_and_its_arguments_are_json(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db", [MINE]) as one, home(tmp_path / "b.db") as two:
            session = await worked(one)
            brought = await two.exchange.import_file(
                (await one.exchange.export(session, "json", tmp_path / "a.journeyman.json")).path
            )
            replies = [e for e in await two.events(brought.session) if isinstance(e, Replied)]
            for each in replies[0].calls:
                assert isinstance(json.loads(each.arguments.head), dict)
            changed = next(e for e in await two.events(brought.session) if isinstance(e, FileChanged))
            assert two.reader.blob(changed.after) == b"password = '[known secret removed]'\n"

    asyncio.run(main())


def test_a_page_is_one_file_without_scripts_or_external_resources(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            page = await made.export_text(await worked(made), "html")
            assert page.count("<script") == 0 and "onerror=alert(2)&gt;" in page and "<img" not in page
            assert "javascript:" not in page.replace("[y](javascript:alert)", "")
            assert 'href="#' in page and 'src="' not in page and "http-equiv=Content-Security-Policy" in page
            assert "\x1b" not in page and "\u202e" not in page and "⟦U+202E⟧" in page
            assert "<strong>look</strong>" in page and "All done." in page and "prefers-color-scheme: dark" in page
            assert f'<article id="{CHILD}">' in page and "more lines are in the session" in page
            assert page.count("<details") == page.count("</details>") and page.count("<pre") == page.count("</pre>")

    asyncio.run(main())


def test_markdown_reads_from_top_to_end(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            text = await made.export_text(await worked(made), "md")
            for before, after in ((" Tidy", "### You"), ("### You", "I **look**."), ("I **look**.", "- **Ran** `curl"),
                                  ("- **Ran** `curl", "exit 2"), ("exit 2", "more lines"), ("more lines", "not run"),
                                  ("not run", "Asked you"), ("Asked you", "All done."), ("All done.", "**Done**"),
                                  ("**Done**", "# <a id=\"chchch22\"></a>Sub-agent helper")):  # fmt: skip
                assert text.index(before) < text.index(after), (before, after)
            outside = re.sub(r"(`{3,}).*?\n\1\n", "", text, flags=re.DOTALL)
            assert "\x1b" not in text and outside.count("<details>") == outside.count("</details>") > 3
            assert "<script" not in outside and "onerror" in outside

    asyncio.run(main())


def spans_of(told: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(told)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    return found


def test_spans_nest_and_carry_messages_calls_and_tokens(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            spans = spans_of(await made.export_text(await worked(made), "otlp"))
            names = Counter(span["name"].split()[0] for span in spans)
            assert names == {"chat": 3, "execute_tool": 5, "invoke_agent": 2}
            ids = {span["spanId"] for span in spans}
            assert len(ids) == len(spans) and len({span["traceId"] for span in spans}) == 1
            parents = {span["spanId"]: span.get("parentSpanId", "") for span in spans}
            assert all(parent in ids for parent in parents.values() if parent)
            assert [span["name"] for span in spans if not span.get("parentSpanId")] == ["invoke_agent journeyman"]
            assert all(int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) for span in spans)
            assert all(len(span["spanId"]) == 16 and len(span["traceId"]) == 32 for span in spans)
            said = {(s["spanId"], a["key"]): a["value"] for s in spans for a in s["attributes"]}
            used = sum(int(value["intValue"]) for (_, key), value in said.items() if key == "gen_ai.usage.input_tokens")
            assert used == 310

    asyncio.run(main())


def test_a_trajectory_has_its_steps_in_order_and_its_results_with_their_calls(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            whole = json.loads(await made.export_text(await worked(made), "atif"))
            assert whole["schema_version"] == "ATIF-v1.8"
            assert [step["step_id"] for step in whole["steps"]] == list(range(1, len(whole["steps"]) + 1))
            assert [step["source"] for step in whole["steps"]] == ["user", "agent", "agent"]
            step = whole["steps"][1]
            asked = [each["tool_call_id"] for each in step["tool_calls"]]
            assert asked == [each["source_call_id"] for each in step["observation"]["results"]]
            ref = step["observation"]["results"][4]["subagent_trajectory_ref"][0]["trajectory_id"]
            assert ref == whole["subagent_trajectories"][0]["trajectory_id"] == CHILD
            assert whole["final_metrics"]["total_prompt_tokens"] == 300 and whole["final_metrics"]["total_steps"] == 3

    asyncio.run(main())


def test_slices_of_a_trace_do_not_overlap_in_their_lane(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            session = await worked(made)
            events = json.loads(await made.export_text(session, "perfetto"))["traceEvents"]
            slices = [event for event in events if event["ph"] == "X"]
            rows = sum(row.rows for row in made.reader.sessions())
            assert len(slices) == rows - 2  # the two end steps are not exported
            lanes: dict[tuple[int, int], int] = {}
            for each in slices:
                lane = each["pid"], each["tid"]
                assert each["tid"] == 0 or lanes.get(lane, 0) <= each["ts"]
                lanes[lane] = each["ts"] + each["dur"]
            assert {event["args"]["name"].split(" (")[0] for event in events if event["name"] == "process_name"} == {
                "helper", "Tidy <b>the</b> folder [GitHub token removed]"
            }  # fmt: skip

    asyncio.run(main())


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_secrets_are_removed_from_files_that_are_not_utf_8(encoding: str) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    body = f"caf\xe9\ntoken = {token}\n".encode(encoding)
    cleaned = ExportRedactor(Redactor()).redact_blob(body)
    assert token not in cleaned.decode(encoding) and cleaned.decode(encoding).startswith("caf\xe9\ntoken")
    binary = bytes(range(256)) * 4
    assert ExportRedactor(Redactor()).redact_blob(binary) == binary


def test_secrets_are_removed_from_arguments_nested_as_deeply_as_a_parser_accepts() -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    nested = f'{{"items": {"[" * 900}"{token}"{"]" * 900}}}'
    cleaned = ExportRedactor(Redactor()).redact_json(nested)
    assert token not in cleaned and cleaned.startswith('{"items": [[')


def test_secrets_are_removed_from_the_names_of_members() -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert token not in ExportRedactor(Redactor()).redact_json(f'{{"{token}": "v", "n": {{"{token}": 1}}}}')


@pytest.mark.parametrize("form", exporters())
def test_the_name_of_a_sub_agent_is_searched_for_secrets(form: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db", [MINE]) as made:
            session = await worked(made)
            named: list[SessionEvent] = [
                SubagentStarted("r1c5", "named222", MINE, Text("look")),
                SessionCreated("named222", "/tmp/here", "look", session, "r1c5", MINE, 1),
                UserMessage(Text("look")), RunStarted("m"), RequestSent("p/m", 1), Replied(Text("Seen.")),
                RunEnded("completed"),
            ]  # fmt: skip
            await made.journal.append(session, named[0])
            await made.journal.append("named222", *named[1:])
            told = await made.export_text(session, form)
            assert MINE not in told.replace("\\", "")  # Markdown escapes the hyphens of a name

    asyncio.run(main())
