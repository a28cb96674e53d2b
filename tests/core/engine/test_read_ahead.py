"""Before the first request to a small model, the files that the user's message names are read."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.domain.events import READ_AHEAD, CallRefused, CallStarted, Replied, RunStarted, SessionEvent, ToolReturned
from core.engine.history.replay import replay_session
from core.settings.schema import Provider
from core.store.reader import Reader
from core.timeline.idle_runs import ended_idle
from tests.core.engine.harness import open_engine, run_bounded
from tests.servers.scripted_server import answer, chunk, scripted_server, stream

LISTING = answer(json.dumps({"data": [{"id": "m"}]}).encode(), "application/json")
DONE = answer(stream(chunk(content="Done."), chunk("stop")))
FILES = {
    "mean.py": "SUM = 1\n",
    "deep/list.txt": "milk 1.2.10\n",
    "version.txt": "1.2.10\n",
    "long.log": "x\n" * 5_000,
    ".env": "KEY=1\n",
    "empty.txt": "",
    "prices.csv": "name;price\nmilk;2\n",
    "names.py": "def old_name():\n    return 1\n",
    "deep/use.py": "from names import old_name\n",
    "near.py": "very_old_name = 1\n",
    **{f"common{number}.py": "common_name = 1\n" for number in range(5)},
}


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    (folder / "deep").mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)


def run_task(
    tmp_path: Path, *tasks: str, prompt_size: Any = "compact", files: Mapping[str, str] = FILES, status: str = "done"
) -> tuple[list[SessionEvent], list[list[dict[str, Any]]]]:
    """Run a session with these messages; return its events, and the messages of each request."""
    events: list[SessionEvent] = []
    sent: list[list[dict[str, Any]]] = []

    async def main() -> None:
        async with scripted_server(LISTING, DONE) as server, open_engine(tmp_path) as scene:
            scene.engine.settings.change(providers=(Provider(name="box", url=server.url),), prompt_size=prompt_size)
            write_files(scene.folder, files)
            start = RunStarted("box/m", mode="auto")
            session = await scene.engine.start(tasks[0], scene.folder, start)
            await scene.engine.wait_idle(session)
            for task in tasks[1:]:
                await scene.engine.send_message(session, task)
                await scene.engine.wait_idle(session)
            assert scene.bugs == [] and scene.status(session) == status
            events.extend(await scene.events(session))
            sent.extend(request.json["messages"] for request in server.requests if request.method == "POST")

    run_bounded(main())
    return events, sent


def read_paths(events: list[SessionEvent]) -> list[str]:
    return [event.object for event in events if isinstance(event, CallStarted)]


def test_named_files_are_in_the_first_request(tmp_path: Path) -> None:
    events, sent = run_task(tmp_path, "What is wrong in mean.py? Compare it with ./deep/list.txt.")
    assert read_paths(events) == ["mean.py", "deep/list.txt"]
    _, user, calling, first, second, reminder = sent[0]
    assert "[The task is: What is wrong in mean.py?" in reminder["content"]
    assert "What is wrong" in user["content"] and len(calling["tool_calls"]) == 2
    assert "SUM = 1" in first["content"] and "milk" in second["content"] and "<data-" in first["content"]
    made, said = [event for event in events if isinstance(event, Replied)]
    assert made.stop_reason == READ_AHEAD and "your message names" in made.note and said.note == ""


def test_other_files_are_left_to_the_model(tmp_path: Path) -> None:
    task = "Look at long.log, .env, empty.txt, missing.py, ../mean.py, /etc/hosts and deep, please."
    events, sent = run_task(tmp_path, task)
    assert read_paths(events) == [] and not any(isinstance(event, CallRefused | ToolReturned) for event in events)
    assert [message["role"] for message in sent[0]] == ["system", "user"]


def test_each_run_reads_the_present_text_and_only_for_small_models(tmp_path: Path) -> None:
    events, sent = run_task(tmp_path / "1", "Explain mean.py.", "Explain mean.py and deep/list.txt.")
    assert read_paths(events) == ["mean.py", "mean.py", "deep/list.txt"] and len(sent) == 2
    events, _ = run_task(tmp_path / "2", "Explain mean.py.", prompt_size="full")
    assert read_paths(events) == []


def test_files_with_a_named_identifier_are_read_if_no_file_is_named(tmp_path: Path) -> None:
    events, sent = run_task(tmp_path / "1", "Rename the function old_name to new_name wherever it is used.")
    assert read_paths(events) == ["deep/use.py", "names.py"]
    assert "import old_name" in str(sent[0]) and "def old_name" in str(sent[0])
    events, _ = run_task(tmp_path / "4", "Set the version to 1.3.0 everywhere: it is 1.2.10 today.")
    assert read_paths(events) == ["deep/list.txt", "version.txt"]
    events, _ = run_task(tmp_path / "2", "Where is old_name used, apart from mean.py?")
    assert read_paths(events) == ["mean.py"]
    events, _ = run_task(tmp_path / "3", "Where is common_name used?")
    assert read_paths(events) == []


def test_the_only_files_of_a_folder_are_read_if_the_message_names_none(tmp_path: Path) -> None:
    few = {"rota.csv": "day;who\nThursday;Priya\n", "deep/note.txt": "Call her.\n"}
    events, sent = run_task(tmp_path / "1", "Who is on call on Thursday?", files=few)
    assert sorted(read_paths(events)) == ["deep/note.txt", "rota.csv"] and "Priya" in str(sent[0])
    made, _ = [event for event in events if isinstance(event, Replied)]
    assert "the only files of the folder" in made.note
    events, _ = run_task(tmp_path / "new", "Write who is on call on Thursday into who.txt.", files=few)
    assert sorted(read_paths(events)) == ["deep/note.txt", "rota.csv"]
    events, _ = run_task(tmp_path / "2", "Hello there!", files=few)
    assert read_paths(events) == []
    events, _ = run_task(tmp_path / "3", "What does notes.md say about Thursday?", files=few)
    assert read_paths(events) == []
    events, _ = run_task(tmp_path / "4", "Who is on call on Thursday?", files={**few, ".env": "KEY=1\n"})
    assert read_paths(events) == []
    events, _ = run_task(tmp_path / "5", "Who is on call on Thursday?")
    assert read_paths(events) == []


def test_the_files_are_followed_by_what_the_task_asks_for(tmp_path: Path) -> None:
    _, sent = run_task(tmp_path / "1", "The sum in mean.py is wrong. Correct it.")
    assert "First say in one sentence what has to change" in sent[0][-1]["content"]
    _, sent = run_task(tmp_path / "2", "Copy mean.py to b.py.")
    assert "call run with cp" in sent[0][-1]["content"]
    _, sent = run_task(tmp_path / "create", "Write the names in mean.py into b.txt.")
    assert "call write or run to create b.txt" in sent[0][-1]["content"]
    _, sent = run_task(tmp_path / "statement", "The list in deep/list.txt needs bread, too.")
    assert "make the next call" in sent[0][-1]["content"]
    _, sent = run_task(tmp_path / "3", "Add a line to deep/list.txt.")
    assert "make the next call" in sent[0][-1]["content"]
    _, sent = run_task(tmp_path / "move", "Rename deep/list.txt to shopping.txt.")
    assert "call run with mv" in sent[0][-1]["content"]
    _, sent = run_task(tmp_path / "csv", "Add up the prices in prices.csv.")
    assert "separated by `;`: awk needs -F';'" in sent[0][-1]["content"]
    _, sent = run_task(tmp_path / "text", "Add up the prices in deep/list.txt.")
    assert "prints the result.]" in sent[0][-1]["content"]
    _, sent = run_task(tmp_path / "result", "Work out the average price in prices.csv and save it as mean.txt.")
    assert "calculates it and writes the result to mean.txt. The columns" in sent[0][-1]["content"]
    _, sent = run_task(tmp_path / "often", "Which price is the most common in prices.csv?")
    assert "sort | uniq -c | sort -rn" in sent[0][-1]["content"]
    _, sent = run_task(tmp_path / "json", "Turn prices.csv into prices.json.")
    assert "Then give the whole new text of prices.json in one code block." in sent[0][-1]["content"]
    _, sent = run_task(tmp_path / "4", "Add a function to mean.py.")
    assert "give the whole new text of mean.py in one code block" in sent[0][-1]["content"]
    _, sent = run_task(tmp_path / "5", "Add up the numbers in mean.py and tell me the sum.")
    assert "Call run with a command that calculates it" in sent[0][-1]["content"]


def test_files_that_a_named_test_imports_are_read_and_a_named_check_is_run(tmp_path: Path) -> None:
    files = {
        "slug.py": "def slug(text):\n    return text\n",
        "test_slug.py": "from slug import slug\n\nassert slug('')\n",
    }
    events, _ = run_task(tmp_path / "1", "slug is wrong, fix it and add a test to test_slug.py.", files=files)
    assert read_paths(events) == ["test_slug.py", "slug.py"]
    _, sent = run_task(
        tmp_path / "2", "`python3 test_slug.py` fails. Please find out why and fix it.", files=files, status="failed"
    )
    assert "AssertionError" in str(sent[0]) and "def slug" in str(sent[0])


def test_a_run_in_which_only_journeyman_made_calls_counts_as_idle(tmp_path: Path) -> None:
    events, _ = run_task(tmp_path, "Fix the sum in mean.py.")
    assert read_paths(events) == ["mean.py"]
    reader = Reader(tmp_path / "journeyman.db")
    try:
        (session,) = [row.id for row in reader.sessions()]
        assert ended_idle(reader.run_opening(session, 1))
    finally:
        reader.close()


def test_the_names_of_the_files_are_in_the_context_of_small_models(tmp_path: Path) -> None:
    _, sent = run_task(tmp_path / "1", "Hello.")
    assert '"deep/list.txt", ' in sent[0][1]["content"]
    _, sent = run_task(tmp_path / "2", "Hello.", prompt_size="full")
    assert "list.txt" not in sent[0][1]["content"]


def test_a_replay_shows_the_same_reading(tmp_path: Path) -> None:
    events, _ = run_task(tmp_path, "Explain mean.py.")
    assert read_paths(events) == ["mean.py"]

    async def again() -> None:
        folder, reader = tmp_path / "replay", Reader(tmp_path / "journeyman.db")
        folder.mkdir()
        (session,) = [row.id for row in reader.sessions()]
        try:
            done = await replay_session(reader, session, folder, lambda _: None, _at_once)
        finally:
            reader.close()
        assert done.differing == []

    run_bounded(again())


async def _at_once(_: object) -> None:
    """Skip the recorded pauses."""
