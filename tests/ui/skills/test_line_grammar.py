"""Parsing of lines for syntax highlighting."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.text.line_grammar import BODY, LineState, initial_state, line_spans, next_state

SKILL = """---
name: formal-letters  # short
description: Write letters
  that cite law
---
# Formal letters

1. Run `exiftool -a` and *look* at [the law](https://law.example).
- [x] **Never** threaten

```python
text = '''a # b
still''' # said
```
~~~~
```
~~~~
> quoted
"""


def parts(text: str, name: str = "SKILL.md") -> list[list[tuple[str, str]]]:
    state, found = initial_state(name), []
    for line in text.split("\n"):
        found.append([(span.kind, line[span.start : span.start + span.length]) for span in line_spans(line, state)])
        state = next_state(line, state)
    return found


def test_a_skill_is_parsed_line_by_line() -> None:
    lines = parts(SKILL)
    assert lines[0] == [("quiet", "---")] == lines[4]
    assert lines[1] == [("quiet", "# short"), ("key", "name"), ("quiet", ":"), ("value", " formal-letters  ")]
    assert lines[3] == [("value", "  that cite law")]
    assert lines[5] == [("heading", "# Formal letters")]
    assert lines[7] == [
        ("mark", "1."),
        ("code", "`exiftool -a`"),
        ("em", "*look*"),
        ("link", "[the law]"),
        ("quiet", "(https://law.example)"),
    ]
    assert lines[8] == [("mark", "- [x]"), ("strong", "**Never**")]
    assert lines[10] == [("quiet", "```python")]
    assert lines[11] == [("string", "'''a # b")]
    assert lines[12] == [("string", "still'''"), ("quiet", "# said")]
    assert lines[13] == [("quiet", "```")]
    assert lines[15] == []  # backticks do not close a fence of tildes
    assert lines[16] == [("quiet", "~~~~")] and lines[17] == [("quiet", ">")]


@pytest.mark.parametrize(
    ("name", "line", "kinds"),
    [
        ("run.py", "def f(): return 'a # b'  # c", ["word", "word", "string", "quiet"]),
        ("run.sh", 'if [ "$A" ]; then echo $B#1; fi # end', ["word", "string", "word", "word", "variable", "number"]),
        ("data.json", '{"a": 1, "b": true}', ["string", "number", "string", "word"]),
        ("a.ts", 'const a = "x" // why', ["word", "string", "quiet"]),
        ("q.sql", "SELECT a FROM b -- all", ["word", "word", "quiet"]),
        ("notes.txt", "if this 'is' 1 # text", []),
    ],
)
def test_the_language_is_inferred_from_the_file_name(name: str, line: str, kinds: list[str]) -> None:
    found = [kind for kind, _ in parts(line, name)[0]]
    assert found[: len(kinds)] == kinds and bool(found) == bool(kinds)


def test_a_text_without_front_matter_is_all_body() -> None:
    assert next_state("# Hello", initial_state("SKILL.md")) == BODY
    assert initial_state("references/law.md") == BODY
    assert next_state("```sh", LineState("start")).region == "fence"


@given(st.text(), st.sampled_from(["SKILL.md", "a.md", "a.py", "a.ts", "a.txt", "a.sql"]))
def test_spans_lie_within_the_line_for_any_text(text: str, name: str) -> None:
    state = initial_state(name)
    for line in text.split("\n"):
        assert all(span.start >= 0 and span.start + span.length <= len(line) for span in line_spans(line, state))
        state = next_state(line, state)
    assert state.region in {"start", "front", "body", "fence", "code"}
