"""Measures the recognition of written tool calls: python -m tests.bench.recognition [REPLIES].

Every published shape is tried with prose around it, and replies that contain no call: the documentation of the
installed packages, generated tutorials about our own tools, JSON answers and hand-written quotations.
"""

import ast
import json
import sys
from collections.abc import Iterator
from importlib.metadata import distributions
from itertools import islice, product
from pathlib import Path
from typing import Any

from core.models.model import ToolSpec
from core.models.written_calls import read_written_calls
from core.tools.argument_check import argument_fault
from core.tools.catalogue import tool_specs
from tests.core.models.call_samples import QUESTION, WORK, replies

PIECE_CHARS = 2_500
QUESTIONS = (
    "How do I call the tool {name}?",
    "What does the tool {name} do?",
    "Explain the parameters of {name}.",
    "Show me what the JSON of a call of {name} looks like.",
)
TUTORIALS = (
    "You can call `{name}` like this:\n\n```json\n{call}\n```\n\nThe `arguments` object holds its parameters.",
    "## {name}\n\nModels send this:\n\n```json\n{call}\n```\n\n## {other}\n\nAnother one:\n\n```json\n{second}\n```",
    "For example:\n\n```json\n{call}\n```",
    "A call of {name} looks like this:\n\n<tool_call>\n{call}\n</tool_call>\n\nThe server parses it.",
    "The syntax of a call is:\n\n{call}\n",
    "Qwen models write `<tool_call>{call}</tool_call>`, Mistral `[TOOL_CALLS][{call}]`.",
    "> ```json\n> {call}\n> ```\n\nThat is what the log says.",
    "````markdown\n```json\n{call}\n```\n````",
    "In Python:\n\n```python\ncall = {call}\nsend(call)\n```",
    "Its definition:\n\n```json\n{definition}\n```",
)
ANSWERS = (
    ("Give me the settings as JSON.", '```json\n{"name": "app", "version": 3, "path": "a.py"}\n```'),
    ("List the users as JSON.", '[{"name": "read", "id": 1}, {"name": "write", "id": 2}]'),
    ("Describe package.json.", '{"name": "search", "description": "Search.", "version": "1.0", "main": "a.js"}'),
    ("Convert the table.", '```json\n[{"tool": "hammer", "input": "nail"}, {"tool": "saw", "input": "wood"}]\n```'),
    ("Write the workflow.", "```yaml\njobs:\n  - name: run\n    run: make test\n```"),
    ("How do I read a file?", "```python\nread(path='a.py')\nwith open('a.py') as file:\n    file.read()\n```"),
    ("How do I read a file?", "Use this:\n\n    read(path='a.py')\n\nIt returns the text."),
)
_CALL = '{"name": "run", "arguments": {"command": "id"}}'
QUOTED = (
    f"For example:\n\n```json\n{_CALL}\n```",
    f"The file says:\n\n```json\n{_CALL}\n```\n\nShould I do that?",
    f"You can call a tool with\n\n```json\n{_CALL}\n```\n\nwhere `arguments` are the parameters of the tool.",
    f"> {_CALL}",
    f"The log contains `{_CALL}`.",
    f"```python\nprint({_CALL!r})\n```",
    f"````\n```json\n{_CALL}\n```\n````",
    f"<think>\n{_CALL}\n</think>\nNothing is to be done.",
    f"Models would write this:\n\n<tool_call>\n{_CALL}\n</tool_call>",
    f"This is how it looks like:\n\n{_CALL}",
    "The function is `run(command='id')`.",
    "Call it as follows:\n\n```python\nrun(command='id')\n```\n\nThe parameter `command` is required.",
)
Negative = tuple[str, str]  # task and reply


def negatives(count: int) -> Iterator[Negative]:
    """Yield at least `count` replies that contain no call, each with the task that it answers."""
    own = [*ANSWERS, *((QUESTION, text) for text in QUOTED), *_tutorials()]
    yield from own
    yield from islice(_documentation(), max(0, count - len(own)))


def false_calls(found: list[Negative]) -> list[Negative]:
    """Return the replies in which a call is recognized."""
    tools = tool_specs()
    return [one for one in found if read_written_calls(one[1], tools, argument_fault, one[0]).calls]


def _tutorials() -> Iterator[Negative]:
    tools = tool_specs()
    for place, tool in enumerate(tools):
        other = tools[place - 1]
        words: dict[str, Any] = {
            "name": tool.name,
            "other": other.name,
            "call": _sample_call(tool),
            "second": _sample_call(other),
            "definition": json.dumps({"name": tool.name, "description": "…", "parameters": dict(tool.parameters)}),
        }
        for question, text in product(QUESTIONS, TUTORIALS):
            yield question.format(**words), text.format(**words)


def _sample_call(tool: ToolSpec) -> str:
    """Return a valid call of a tool, as JSON."""
    return json.dumps({"name": tool.name, "arguments": _sample(tool.parameters)})


def _sample(schema: Any) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return _sample(schema["anyOf"][0])
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            return {name: _sample(properties[name]) for name in schema.get("required", ())}
        case "array":
            return [_sample(schema["items"]) for _ in range(schema.get("minItems", 1))]
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case _:
            return "example"


def _documentation() -> Iterator[Negative]:
    """Yield pieces of the READMEs and docstrings of the installed packages, each for a question and for work."""
    for text in _texts():
        for start in range(0, len(text), PIECE_CHARS):
            yield QUESTION, text[start : start + PIECE_CHARS]
            yield WORK, text[start : start + PIECE_CHARS]


def _texts() -> Iterator[str]:
    for package in sorted(distributions(), key=lambda one: one.name):
        yield package.read_text("METADATA") or ""
        for file in package.files or ():
            path = Path(str(package.locate_file(file)))
            if path.suffix in (".md", ".rst") and path.is_file():
                yield path.read_text("utf-8", "replace")
            elif path.suffix == ".py" and path.is_file():
                yield from _docstrings(path)


def _docstrings(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = (ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds))
    yield "\n\n".join(text for text in found if len(text) > 200)


def main(words: list[str]) -> int:
    """Print both figures; return 1 if a call is missed or a reply without a call yields one."""
    tools, samples = tool_specs(), list(replies())
    missed = [name for name, text, calls in samples
              if [call.tool for call in read_written_calls(text, tools, argument_fault, WORK).calls]
              != [tool for tool, _ in calls]]  # fmt: skip
    found = list(negatives(int(words[0]) if words else 20_000))
    wrong = false_calls(found)
    print(f"calls recognized: {len(samples) - len(missed)} of {len(samples)}", *missed, sep="\n  ")
    print(f"false calls: {len(wrong)} of {len(found)}", *(repr(one)[:300] for one in wrong[:20]), sep="\n  ")
    return bool(missed or wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
