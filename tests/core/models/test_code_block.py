"""The code block of a reply that was asked for the whole text of a file becomes a call that writes it."""

import json

import pytest

from core.models.code_block import program_call, write_call
from core.models.model import AskedFile

CODE = "def mean(values):\n    return sum(values) / len(values)\n"
OLD = AskedFile("mean.py", "def mean(values):\n    return 0\n")


@pytest.mark.parametrize(
    "reply",
    [
        f"The divisor is wrong.\n\n```python\n{CODE}```",
        f"```\n{CODE}```\nIt is right now.",
        f"The divisor is wrong.\n\n```python\n{CODE}```\n\n```python\n{CODE}```",
    ],
)
def test_the_block_is_written(reply: str) -> None:
    call = write_call(reply, OLD, may_remove=False)
    assert call and call.tool == "write" and json.loads(call.arguments) == {"path": "mean.py", "content": CODE}


@pytest.mark.parametrize(
    "reply",
    [
        "It is right already.",
        f"```python\n{CODE}",
        "```sh\npython3 mean.py\n```",
        '```json\n{"path": "mean.py"}\n```',
        "```diff\n-a\n+b\n```",
        "```python\n\n```",
        f"```python\n{CODE}```\nor\n```python\n{CODE.replace('sum', 'fsum')}```",
        f"```python\n{CODE}```\nTest it:\n```sh\npython3 mean.py\n```",
    ],
)
def test_replies_without_exactly_one_whole_text_write_nothing(reply: str) -> None:
    assert write_call(reply, OLD, may_remove=False) is None


def test_a_block_of_commands_is_the_text_of_a_shell_script_only() -> None:
    block = "The `if` is not closed.\n\n```sh\nif true; then\n    echo yes\nfi\n```"
    call = write_call(block, AskedFile("greet.sh", "if true; then\n    echo yes\n"), may_remove=False)
    assert call and json.loads(call.arguments) == {"path": "greet.sh", "content": "if true; then\n    echo yes\nfi\n"}
    assert write_call(block, AskedFile("greet.py"), may_remove=False) is None


def test_a_part_of_a_file_does_not_replace_it() -> None:
    text = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(5))
    part = "```python\ndef f2():\n    return 3\n```"
    assert write_call(part, AskedFile("f.py", text), may_remove=False) is None
    assert write_call(part, AskedFile("f.py"), may_remove=False) is not None


def test_a_block_without_a_function_of_the_file_is_whole_only_if_the_task_removes_some() -> None:
    asked = AskedFile("mean.py", f"{OLD.text}\n\nclass Sum:\n    pass\n")
    block = f"```python\n{CODE}\n\n# the mean\n```"
    assert write_call(block, asked, may_remove=False) is None
    assert write_call(block, asked, may_remove=True) is not None


def test_a_json_file_is_written_from_a_block_of_json() -> None:
    new = AskedFile("effective.json")
    call = write_call('```json\n{"port": 80}\n```', new, may_remove=False)
    assert call and json.loads(call.arguments) == {"path": "effective.json", "content": '{"port": 80}\n'}
    assert write_call('```json\n{"port": 80\n```', new, may_remove=False) is None


PROGRAM = "lines = open('a.txt').read()\nwith open('NOTES.md', 'w') as file:\n    file.write(lines)\n"
READING_PROGRAM = PROGRAM.replace("'w'", "'r'")


def test_a_program_that_writes_the_missing_file_is_run() -> None:
    call = program_call(f"Here is the code:\n\n```python\n{PROGRAM}```", "NOTES.md")
    assert call and call.tool == "run"
    assert json.loads(call.arguments)["command"] == f"python3 - <<'END_OF_PROGRAM'\n{PROGRAM}END_OF_PROGRAM"


@pytest.mark.parametrize(
    ("reply", "missing"),
    [
        (f"```python\n{PROGRAM}```", ""),
        (f"```python\n{PROGRAM}```", "other.md"),
        (f"```python\n{PROGRAM}```\n```sh\npython3 notes.py\n```", "NOTES.md"),
        (f"```python\n{READING_PROGRAM}```", "NOTES.md"),
        (f"```js\n{PROGRAM}```", "NOTES.md"),
        (f"```python\n{PROGRAM}", "NOTES.md"),
    ],
)
def test_other_programs_are_not_run(reply: str, missing: str) -> None:
    assert program_call(reply, missing) is None
