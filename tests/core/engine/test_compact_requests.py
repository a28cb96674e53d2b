"""What requests to small models add after a call: that it printed nothing, that it failed, or what the task is."""

import json
from pathlib import Path
from typing import Any

from core.domain.events import CallStarted, HarnessMessage, Replied, RunStarted
from core.domain.permissions import PermissionRequested
from core.settings.schema import Provider
from tests.core.engine.harness import open_engine, run_bounded
from tests.servers.scripted_server import ServerAction, answer, chunk, scripted_server, stream

LISTING = answer(json.dumps({"data": [{"id": "m"}]}).encode(), "application/json")
MARK = "0123456789abcdef"
DONE = answer(stream(chunk(content="Done."), chunk("stop")))


def calling(tool: str, **arguments: Any) -> list[ServerAction]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return answer(stream(chunk(tool_calls=[{"index": 0, "id": "c", "function": function}]), chunk("tool_calls")))


def sent_after_call(tmp_path: Path, task: str, call: list[ServerAction], prompt_size: Any = "compact") -> list[str]:
    """Return the texts of the messages that follow the call in the second request."""
    texts: list[str] = []

    async def test() -> None:
        async with scripted_server(LISTING, call, DONE, DONE, DONE) as server, open_engine(tmp_path) as scene:
            scene.engine.settings.change(providers=(Provider(name="box", url=server.url),))
            (scene.folder / "a.txt").write_text("one\n")
            start = RunStarted("box/m", mode="auto", prompt_size=prompt_size)
            session = await scene.engine.start(task, scene.folder, start)
            await scene.engine.wait_idle(session)
            posts = [request.json for request in server.requests if request.method == "POST"]
            second = posts[1]["messages"]
            last = max(index for index, message in enumerate(second) if message["role"] == "assistant")
            texts.extend(str(message["content"]) for message in second[last + 1 :])

    run_bounded(test())
    return texts


def test_a_failed_call_is_followed_by_the_task(tmp_path: Path) -> None:
    failing = calling("edit", path="a.txt", old_string="two", new_string="2")
    result, reminder = sent_after_call(tmp_path, "Replace two by 2 in a.txt.", failing)
    assert "was not found" in result
    assert "The call failed" in reminder and "Replace two by 2 in a.txt." in reminder


def test_a_failed_command_is_followed_by_the_task(tmp_path: Path) -> None:
    _, reminder = sent_after_call(tmp_path, "Move all files into old.", calling("run", command="mv b.txt old/"))
    assert "correct it and call run again" in reminder and "Move all files" in reminder


def test_a_question_is_repeated_after_a_result_and_a_task_is_not(tmp_path: Path) -> None:
    reading = calling("read", path="a.txt")
    result, reminder = sent_after_call(tmp_path / "1", "What does the file say?", reading)
    assert "one" in result and "What does the file say?" in reminder
    assert len(sent_after_call(tmp_path / "2", "Write one into b.txt as well.", reading)) == 1


def test_a_refused_call_is_not_to_be_repeated(tmp_path: Path) -> None:
    assert len(sent_after_call(tmp_path, "Read the file.", calling("read", path="/etc/shadow"))) == 1


def test_a_full_prompt_has_no_reminders(tmp_path: Path) -> None:
    assert len(sent_after_call(tmp_path, "What does a.txt say?", calling("read", path="a.txt"), "full")) == 1


def test_a_command_without_output_says_so(tmp_path: Path) -> None:
    (result,) = sent_after_call(tmp_path, "Run true.", calling("run", command="true"), "full")
    assert result == "(no output)"


def test_a_reply_without_text_stays_empty_after_a_command_without_output(tmp_path: Path) -> None:
    posts, _, _ = run_compact(tmp_path, "Run true.", calling("run", command="true"), DONE)
    replies = [message["content"] for message in posts[-1]["messages"] if message["role"] == "assistant"]
    assert replies == [None] and posts[-1]["messages"][-1]["content"] == "(no output)"


def run_compact(
    tmp_path: Path, task: str, *answers: list[ServerAction], script: str = "", large: bool = False
) -> tuple[list[Any], str, list[Any]]:
    """Return the requests that follow the first, the text of a.txt at the end, and the events.

    `script`: the text of b.sh. `large`: a.txt is too large to be read ahead.
    """
    posts: list[Any] = []
    left: list[Any] = []

    async def test() -> None:
        async with scripted_server(LISTING, *answers) as server, open_engine(tmp_path) as scene:
            scene.engine.settings.change(providers=(Provider(name="box", url=server.url),))
            (scene.folder / "a.txt").write_text("one\n" * (1_000 if large else 1))
            if script:
                (scene.folder / "b.sh").write_text(script)
            start = RunStarted("box/m", mode="auto", prompt_size="compact", boundary=MARK)
            session = await scene.engine.start(task, scene.folder, start)
            await scene.engine.wait_idle(session)
            assert scene.bugs == [] and scene.status(session) == "done"
            posts.extend(request.json for request in server.requests if request.method == "POST")
            left.extend([(scene.folder / "a.txt").read_text(), await scene.events(session)])

    run_bounded(test())
    return posts[1:], *left


def test_tags_that_mark_data_are_removed_from_calls(tmp_path: Path) -> None:
    copied = f'<data-{MARK} name="a.txt">\ntwo\n</data-{MARK}>'
    _, text, events = run_compact(
        tmp_path, "Write two into a.txt.", calling("write", path="a.txt", content=copied), DONE
    )
    assert text == "two\n"
    assert any("tags that mark data" in event.note for event in events if isinstance(event, Replied))


def test_code_that_is_shown_instead_of_written_gets_one_reminder(tmp_path: Path) -> None:
    code = "Here is the corrected code:\n\n```python\ndef mean(values):\n    return sum(values)\n```\n"
    shown = answer(stream(chunk(content=code), chunk("stop")))
    work = calling("run", command="true")
    posts, _, _ = run_compact(tmp_path, "Fix the function in a.txt.", work, shown, shown, DONE)
    assert [post.get("response_format") is not None for post in posts] == [False, True]
    assert "code in a reply changes no file" in posts[-1]["messages"][-1]["content"]


def test_a_file_that_the_task_asks_for_is_missed_at_the_end(tmp_path: Path) -> None:
    count = calling("run", command="grep -c one a.txt")
    writing = calling("write", path="count.txt", content="1\n")
    task = "How many lines of a.txt hold the word one? Write only the number into count.txt."
    posts, _, _ = run_compact(tmp_path / "1", task, count, DONE, writing, DONE)
    assert [post.get("response_format") is not None for post in posts] == [False, True, False]
    assert "count.txt does not exist" in posts[1]["messages"][-1]["content"]
    shapes = posts[1]["response_format"]["json_schema"]["schema"]["anyOf"]
    paths = [shape["properties"]["arguments"]["properties"].get("path") for shape in shapes]
    assert required_tools(posts[1]) == ["write", "run"] and paths == [{"const": "count.txt"}, None]
    posts, _, _ = run_compact(tmp_path / "2", task, count, writing, DONE)
    assert [post.get("response_format") is not None for post in posts] == [False, False]


def test_a_file_is_missed_whatever_verb_asks_for_it(tmp_path: Path) -> None:
    writing = calling("write", path="index.md", content="one\n")
    posts, _, _ = run_compact(tmp_path, "Gather the lines of a.txt in index.md.", DONE, writing, DONE, DONE)
    assert [required_tools(post) for post in posts] == [["write", "run"], []]
    assert "index.md does not exist" in posts[0]["messages"][-1]["content"]


def test_work_that_is_only_claimed_is_asked_for(tmp_path: Path) -> None:
    claim = answer(stream(chunk(content="I have sorted the lines of a.txt."), chunk("stop")))
    posts, text, _ = run_compact(
        tmp_path / "1", "Alphabetize a.txt.", claim, calling("write", path="a.txt", content="1\n"), claim
    )
    assert len(posts) == 2 and required_tools(posts[0]) and text == "1\n"
    assert "no change has been made" in posts[0]["messages"][-1]["content"]
    posts, _, _ = run_compact(tmp_path / "2", "Is a.txt sorted?", claim)
    assert posts == []


def saying(text: str) -> list[ServerAction]:
    return answer(stream(chunk(content=text), chunk("stop")))


def run_code_task(tmp_path: Path, *answers: list[ServerAction]) -> tuple[list[Any], str, list[Any]]:
    """Run a task about a file with code, whose check fails at first; return what `run_compact` returns."""
    posts: list[Any] = []
    left: list[Any] = []

    async def test() -> None:
        async with scripted_server(LISTING, *answers) as server, open_engine(tmp_path) as scene:
            scene.engine.settings.change(providers=(Provider(name="box", url=server.url),))
            (scene.folder / "a.py").write_text("print(1)\n")
            start = RunStarted("box/m", mode="auto", prompt_size="compact", boundary=MARK)
            session = await scene.engine.start("Fix a.py so that `grep 2 a.py` passes.", scene.folder, start)
            await scene.engine.wait_idle(session)
            assert scene.bugs == [] and scene.status(session) == "done"
            posts.extend(request.json for request in server.requests if request.method == "POST")
            left.extend([(scene.folder / "a.py").read_text(), await scene.events(session)])

    run_bounded(test())
    return posts, *left


def test_a_short_file_with_code_is_asked_for_as_a_whole_and_written(tmp_path: Path) -> None:
    wrong = saying("It has to print another number.\n\n```python\nprint(3)\n```")
    right = saying("It has to be 2.\n\n```python\nprint(2)\n```")
    posts, text, events = run_code_task(tmp_path, saying("The number is wrong."), wrong, right, DONE)
    last = [post["messages"][-1]["content"] for post in posts]
    assert "give the whole new text of a.py in one code block" in last[0]
    assert "no change has been made" in last[1] and "Give the whole new text of a.py" in last[1]
    assert "`grep 2 a.py` fails. First say in one sentence why." in last[2]
    assert all(post.get("response_format") is None for post in posts) and text == "print(2)\n"
    replies = [event for event in events if isinstance(event, Replied)]
    written = [event for event in replies if "code block" in event.note]
    assert len(written) == 2 and all("```python" in event.text.head and event.calls for event in written)


def test_a_part_of_a_file_is_sent_back(tmp_path: Path) -> None:
    two = "```python\nprint(2)\n```\n\n```python\nprint(3)\n```"
    posts, text, _ = run_code_task(tmp_path, saying(two), saying("```python\nprint(2)\n```"), DONE, DONE, DONE, DONE)
    assert "is not a whole file. Give the whole new text of a.py" in posts[1]["messages"][-1]["content"]
    assert text == "print(2)\n"


def test_after_a_denial_the_model_is_not_pushed_to_do_something_else(tmp_path: Path) -> None:
    async def test() -> None:
        writing = calling("write", path="b.txt", content="two\n")
        async with scripted_server(LISTING, writing, DONE) as server, open_engine(tmp_path) as scene:
            scene.engine.settings.change(providers=(Provider(name="box", url=server.url),))
            start = RunStarted("box/m", mode="ask", prompt_size="compact")
            session = await scene.engine.start("Create b.txt.", scene.folder, start)
            asked = (await scene.until(PermissionRequested)).event
            assert isinstance(asked, PermissionRequested)
            await scene.engine.deny(asked.request.id)
            await scene.engine.wait_idle(session)
            assert not any(isinstance(event, HarnessMessage) for event in await scene.events(session))

    run_bounded(test())


def required_tools(post: Any) -> list[str]:
    """Return the tools of which the provider has to enforce a call."""
    shape = post.get("response_format", {"json_schema": {"schema": {"anyOf": []}}})["json_schema"]["schema"]
    return [call["properties"]["name"]["const"] for call in shape["anyOf"]]


def test_a_question_that_the_task_demands_is_enforced(tmp_path: Path) -> None:
    task = "Write a greeting into a.txt. Ask me in which language."
    writing = calling("write", path="a.txt", content="Salut.")
    posts, text, _ = run_compact(tmp_path, task, DONE, writing, DONE, DONE, DONE)
    assert required_tools(posts[0]) == ["ask_user"] and "you have not asked" in posts[0]["messages"][-1]["content"]
    assert text == "Salut.\n"


def test_a_check_that_the_task_names_is_run_after_each_change_and_has_to_succeed(tmp_path: Path) -> None:
    task = "Change a.txt so that `grep two a.txt` passes."
    wrong = calling("edit", path="a.txt", old_string="one", new_string="three")
    right = calling("write", path="a.txt", content="two\n")
    posts, text, events = run_compact(tmp_path, task, wrong, DONE, right, DONE)
    assert [required_tools(post) for post in posts] == [[], ["write"], []]
    assert text == "two\n" and "still fails" in posts[1]["messages"][-1]["content"]
    notes = [event.note for event in events if isinstance(event, Replied) and event.note]
    assert sum("has to pass" in note for note in notes) == 2


def test_checks_that_a_small_model_makes_by_itself_are_not_repeated(tmp_path: Path) -> None:
    task = "Change a.txt so that `grep two a.txt` passes."
    right = calling("edit", path="a.txt", old_string="one", new_string="two")
    posts, _, _ = run_compact(tmp_path, task, right, calling("run", command="grep two a.txt"), DONE)
    assert [required_tools(post) for post in posts] == [[], []]


def test_a_file_that_is_written_as_it_was_counts_as_no_work(tmp_path: Path) -> None:
    same = calling("write", path="a.txt", content="one\n")
    posts, _, _ = run_compact(tmp_path, "a.txt is wrong. Correct it.", same, DONE, DONE)
    assert "no change has been made" in posts[1]["messages"][-1]["content"]


def test_an_empty_reply_after_reading_is_not_the_end_of_the_work(tmp_path: Path) -> None:
    empty = answer(stream(chunk(content=""), chunk("stop")))
    reading, right = calling("read", path="a.txt"), calling("edit", path="a.txt", old_string="one", new_string="two")
    work = calling("run", command="true")
    task = "Rename one to two everywhere. Call run to look for more."  # The tools in the task are not required.
    posts, text, _ = run_compact(tmp_path, task, work, reading, empty, right, DONE)
    assert [required_tools(post) for post in posts] == [[], [], ["write", "edit"], []] and text == "two\n"
    assert "Rename one to two everywhere." in posts[2]["messages"][-1]["content"]


def test_files_that_a_renaming_leaves_out_are_named_at_the_end(tmp_path: Path) -> None:
    task = "In a.txt, rename one to two, and likewise in b.txt."
    reading = [calling("write", path="b.txt", content="all for one\n"), calling("read", path="b.txt")]
    edits = [calling("edit", path=path, old_string="one", new_string="two") for path in ("a.txt", "b.txt")]
    posts, text, _ = run_compact(tmp_path, task, *reading, edits[0], DONE, edits[1], DONE)
    assert [required_tools(post) for post in posts][2:] == [[], ["edit"], []] and text == "two\n"
    assert "but one is also in b.txt" in posts[3]["messages"][-1]["content"]


def test_an_empty_reply_to_the_engine_gets_a_nudge_and_is_no_error(tmp_path: Path) -> None:
    empty = answer(stream(chunk(content=""), chunk("stop")))
    same = calling("write", path="a.txt", content="one\n")
    right = calling("write", path="a.txt", content="two\n")
    posts, text, _ = run_compact(tmp_path, "Change a.txt, please.", same, same, same, empty, right, DONE)
    assert "changed nothing 3 times" in posts[2]["messages"][-1]["content"] and text == "two\n"


def test_a_command_that_is_shown_instead_of_run_is_enforced(tmp_path: Path) -> None:
    shown = answer(stream(chunk(content="Run this:\n\n```sh\nwc -l a.txt\n```\n"), chunk("stop")))
    check = calling("run", command="wc -l a.txt")
    posts, _, _ = run_compact(tmp_path / "1", "Which is the longest file here?", shown, check, DONE)
    assert [required_tools(post) for post in posts] == [["run"], []]
    posts, _, _ = run_compact(tmp_path / "2", "How do I count the lines of a file?", shown)
    assert posts == []


def test_a_command_that_the_model_offers_after_its_work_is_enforced(tmp_path: Path) -> None:
    offer = answer(stream(chunk(content="You can use sed:\n\n```sh\nsed -i s/one/two/ b.txt\n```\n"), chunk("stop")))
    copying, changing = calling("run", command="cp a.txt b.txt"), calling("run", command="sed -i s/one/two/ b.txt")
    posts, _, _ = run_compact(
        tmp_path, "Copy a.txt to b.txt and write two in the copy.", copying, offer, changing, DONE
    )
    assert "a command in a reply is not run" in posts[1]["messages"][-1]["content"]


def test_a_script_that_is_shown_in_a_block_of_commands_is_written(tmp_path: Path) -> None:
    shown = saying("The `if` is not closed.\n\n```sh\nif true; then\n    echo yes\nfi\n```")
    script = "if true; then\n    echo yes\n"
    posts, _, events = run_compact(tmp_path, "b.sh does not close its if. Fix it.", shown, DONE, script=script)
    started = [(event.tool, event.object) for event in events if isinstance(event, CallStarted)]
    assert started == [("read", "b.sh"), ("write", "b.sh")] and len(posts) == 1


def test_a_reply_that_only_repeats_the_task_is_asked_for_a_call(tmp_path: Path) -> None:
    task = "Is two the last line of a.txt? Then say so."
    posts, _, _ = run_compact(tmp_path, task, saying(f"{task.lower()}\n"), DONE)
    assert len(posts) == 1 and "so nothing happened" in posts[0]["messages"][-1]["content"]


def test_a_statement_about_a_file_is_no_reason_to_do_nothing(tmp_path: Path) -> None:
    writing = calling("write", path="a.txt", content="two\n")
    posts, text, _ = run_compact(tmp_path, "a.txt needs another number.", DONE, writing, DONE)
    assert text == "two\n" and required_tools(posts[0])


def test_a_question_about_files_is_not_answered_without_looking(tmp_path: Path) -> None:
    guess, looking = saying("It is 7."), calling("run", command="grep -c one a.txt")
    for number, task in enumerate(("a.txt: how many lines has it?", "Where is the limit in this project set?")):
        posts, _, _ = run_compact(tmp_path / f"{number}", task, guess, looking, saying("It is 1."), large=True)
        assert [required_tools(post) for post in posts] == [["read", "run"], []]
        assert "have not looked into any file" in posts[0]["messages"][-1]["content"]
    for number, task in enumerate(("How do I count the lines of a.txt?", "What is 3 + 4?"), 2):
        posts, _, _ = run_compact(tmp_path / f"{number}", task, guess, large=True)
        assert posts == []
