"""Parses the front matter of a skill, a small subset of YAML, and reports errors with line numbers.

Every value is text: `no`, `1.10` and dates stay as written. Anchors, tags and deep nesting are not expanded, so a small
file cannot become a large value. A line that cannot be parsed is reported, and stays unchanged in the file.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from core.domain.skill import SkillFinding

FENCE: Final = re.compile(r"---[ \t]*\r?\n?")
KEY: Final = re.compile(
    r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s\-?:,\[\]{}#&*!|>'"%@`][^:#]*?|-[^\s:][^:]*?)\s*:(?=\s|$)(.*)"""
)
BLOCK_HEADER: Final = re.compile(r"[|>](?:[+-]?[1-9]?|[1-9][+-])")
ESCAPES: Final = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    " ": " ",
    '"': '"',
    "/": "/",
    "\\": "\\",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}
ESCAPE_SEQUENCE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|\n|.)", re.DOTALL)
# Text of these characters needs no quotation marks, unless YAML would read it as something else, such as `true`.
PLAIN_SCALAR: Final = re.compile(r"[A-Za-z0-9_./(À-ɏ][^\n\r\t\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]*")


@dataclass(frozen=True, slots=True)
class FrontMatterField:
    """A key of the front matter and its value: a text in `text`, a list in `items`, or a mapping in `pairs`.

    `line` is the field's first line in the file, counted from 1, and `end` is the line after its last.
    """

    key: str
    line: int
    end: int
    text: str = ""
    items: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class FrontMatter:
    """The fields of a front matter in order, and its errors.

    `end` is the line of the closing `---`; 0 if it is missing.
    """

    fields: list[FrontMatterField] = field(default_factory=list)
    findings: list[SkillFinding] = field(default_factory=list)
    end: int = 0

    def find(self, key: str) -> FrontMatterField | None:
        return next((found for found in self.fields if found.key == key), None)

    def add_error(self, line: int, message: str, cause: str = "", fix: str = "") -> None:
        self.findings.append(SkillFinding(line, message, cause, fix))


def parse_front_matter(lines: Sequence[str]) -> FrontMatter:
    """Parse the front matter of a file's lines. Without an opening and a closing `---` line, it is empty."""
    head = FrontMatter()
    closing = next((index for index in range(1, len(lines)) if FENCE.fullmatch(lines[index])), None)
    if not lines or not FENCE.fullmatch(lines[0]) or closing is None:
        return head
    head.end = closing + 1
    field_lines = [line.rstrip("\r\n") for line in lines[1:closing]]
    index = 0
    while index < len(field_lines):
        index = _parse_field(head, field_lines, index)
    return head


def _parse_field(head: FrontMatter, lines: list[str], index: int) -> int:
    """Parse the field that starts at an index of `lines`, and add it to `head`. Return the index after the field."""
    line = lines[index]
    number = index + 2  # in the file, whose first line is the fence
    if "---" in line:
        head.add_error(
            number, "There are three hyphens in the front matter.", "Some programs end it there.", "Use a dash."
        )
    if not line.strip() or line.lstrip().startswith("#"):
        return index + 1
    match = KEY.fullmatch(line)
    if match is None:
        why = "It is indented but belongs to no key." if line[0] in " \t" else "It has no `key:`."
        head.add_error(
            number, "This line cannot be parsed.", why, "Write `key: value`; quote values that contain a colon."
        )
        return index + 1
    key = _unquoted(match[1])
    end = _value_end(lines, index + 1, match[2])
    parsed = _value(head, key, match[2].strip(), lines[index + 1 : end], number, end + 2)
    if head.find(key):
        head.add_error(number, f"`{key}` is a duplicate.", "Only the first one is used.", "Remove one of them.")
    else:
        head.fields.append(parsed)
    return end


def _value_end(lines: list[str], start: int, value: str) -> int:
    """Return the index after the last line of a key's value. `start` is the index after the line of the key itself."""
    end = start
    allows_items = not _uncommented(value.strip())
    for index in range(start, len(lines)):
        line = lines[index]
        is_item = line.startswith("- ") or line == "-"
        if line.startswith((" ", "\t")) or (allows_items and is_item):
            end = index + 1
        elif line.strip() and not line.startswith("#"):
            break
    while end > start and not lines[end - 1].strip():
        end -= 1
    return end


def _value(head: FrontMatter, key: str, value: str, block: list[str], line: int, end: int) -> FrontMatterField:
    plain = _uncommented(value)
    if any("\t" in text[: len(text) - len(text.lstrip())] for text in block):
        head.add_error(line, f"`{key}` is indented with tabs.", "YAML requires spaces.", "Use spaces.")
    if not plain:
        return _nested(head, key, block, line, end)
    if BLOCK_HEADER.fullmatch(plain):
        return FrontMatterField(key, line, end, _block(plain, block))
    if plain[0] == "[":
        items = _uncommented(" ".join([value, *map(str.strip, block)])).strip().removeprefix("[").removesuffix("]")
        fix = "Write the values on one line, separated by spaces." if key == "allowed-tools" else "Use `- ` lines."
        head.add_error(line, f"`{key}` is a list in brackets.", "The format does not allow them.", fix)
        return FrontMatterField(key, line, end, items=tuple(_flow_items(items)))
    if plain[0] in "{&*!%@`|>":
        why = "Braces, anchors, aliases, tags and reserved characters of YAML are not supported here."
        head.add_error(line, f"The value of `{key}` is not plain text.", why, "Put it in quotation marks.")
        return FrontMatterField(key, line, end, " ".join([plain, *map(str.strip, block)]).strip())
    return FrontMatterField(key, line, end, _scalar(head, key, value, block, line))


def _scalar(head: FrontMatter, key: str, first_line: str, block: list[str], line: int) -> str:
    """Parse a plain or quoted text of one or more lines. Report errors in `head`."""
    if first_line[:1] in ('"', "'"):
        quoted = "\n".join([first_line, *(text.strip() for text in block)])
        end = _closing_quote(quoted)
        if end and not _uncommented(quoted[end:].strip()):
            return _unquoted(_folded(quoted[:end]))
        why = "The closing one is missing." if not end else "There is text after the closing one."
        head.add_error(
            line, f"The quotation marks of `{key}` do not match.", why, "Close them at the end of the value."
        )
        return _folded(quoted).strip("\"'")
    text = _folded("\n".join(_uncommented(part.strip()) for part in [first_line, *block]))
    if re.search(r":(\s|$)", text):
        why = "In YAML, this starts another value."
        head.add_error(line, f"`{key}` has a colon followed by a space.", why, "Put the value in quotation marks.")
    return text


def _nested(head: FrontMatter, key: str, block: list[str], line: int, end: int) -> FrontMatterField:
    """Parse the lines below a key as list items, a mapping, or plain text."""
    lines = [text for text in block if text.strip() and not text.lstrip().startswith("#")]
    if not lines:
        return FrontMatterField(key, line, end)
    if lines[0].lstrip().startswith("- ") or lines[0].strip() == "-":
        items = tuple(
            _item(head, key, first_line.lstrip()[1:].strip(), more_lines, line)
            for first_line, *more_lines in _indent_groups(lines)
        )
        return FrontMatterField(key, line, end, items=items)
    if KEY.fullmatch(lines[0].strip()):
        return FrontMatterField(key, line, end, pairs=tuple(_pairs(head, key, block, line)))
    return FrontMatterField(key, line, end, _scalar(head, key, lines[0].strip(), lines[1:], line))


def _pairs(head: FrontMatter, key: str, block: list[str], line: int) -> Iterator[tuple[str, str]]:
    lines = [text for text in block if text.strip()]
    for key_line, *more_lines in _indent_groups(lines):
        if key_line.lstrip().startswith("#"):
            continue
        match = KEY.fullmatch(key_line.strip())
        number = line + 1 + block.index(key_line)
        if match is None:
            head.add_error(number, f"This line of `{key}` cannot be parsed.", "", "Write `name: value`.")
            continue
        value = match[2].strip()
        if BLOCK_HEADER.fullmatch(_uncommented(value)):
            yield _unquoted(match[1]), _block(value, more_lines)
        else:
            yield _unquoted(match[1]), _item(head, key, value, more_lines, number)


def _item(head: FrontMatter, key: str, value: str, block: list[str], line: int) -> str:
    """Parse a list item or a value of a mapping. Text with deeper nesting is returned as written."""
    plain = _uncommented(value)
    if plain[:1] in tuple("[{&*!%@`|>"):
        head.add_error(line, f"A value of `{key}` is not plain text.", "", "Put it in quotation marks.")
        return " ".join([plain, *map(str.strip, block)])
    if not plain:
        return "\n".join(map(str.strip, block))
    return _scalar(head, key, value, block, line)


def _indent_groups(lines: list[str]) -> list[list[str]]:
    """Split indented lines into groups. A line with the smallest indentation starts a new group."""
    indent = min(len(text) - len(text.lstrip()) for text in lines)
    groups: list[list[str]] = []
    for text in lines:
        if not groups or len(text) - len(text.lstrip()) == indent:
            groups.append([text])
        else:
            groups[-1].append(text)
    return groups


def _block(header: str, block: list[str]) -> str:
    """Parse a block scalar, literal (|) or folded (>)."""
    filled = [text for text in block if text.strip()]
    indent = min((len(text) - len(text.lstrip()) for text in filled), default=0)
    lines = [text[indent:].rstrip() if text.strip() else "" for text in block]
    text = "\n".join(lines) if header[0] == "|" else _folded("\n".join(lines))
    return text if "-" in header else text + "\n"


def _folded(text: str) -> str:
    """Join lines with spaces. An empty line becomes a line break."""
    parts = re.split(r"\n(?:[ \t]*\n)", text)
    return "\n".join(" ".join(line.strip() for line in part.split("\n")).strip() for part in parts)


def _uncommented(text: str) -> str:
    """Return the line without its comment.

    A `#` starts a comment only after whitespace and outside of quotation marks.
    """
    if text[:1] in ('"', "'"):
        end = _closing_quote(text)
        return text[:end] + re.sub(r"(^|\s)#.*", "", text[end:], flags=re.DOTALL) if end else text
    return re.sub(r"(^|\s)#.*", "", text).strip()


def _closing_quote(text: str) -> int:
    """Return the index after the closing quotation mark of a quoted text, or 0 if there is no closing mark."""
    pattern = r'"(?:[^"\\]|\\.)*"' if text[0] == '"' else r"'(?:[^']|'')*'"
    match = re.match(pattern, text, re.DOTALL)
    return match.end() if match else 0


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        return ESCAPE_SEQUENCE.sub(lambda match: _decoded(match[1]), text[1:-1])
    return text


def _decoded(code: str) -> str:
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
    return ESCAPES.get(code, code)


def _flow_items(text: str) -> Iterator[str]:
    """Yield the items of a list that is written in brackets. `text` is what is between the brackets."""
    for match in re.finditer(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,]*)\s*(?:,|$)""", text):
        if match[1].strip():
            yield _unquoted(match[1].strip())


def quote_yaml(text: str) -> str:
    """Return the text as a YAML value, in quotation marks if a YAML parser would otherwise read something else."""
    has_special_characters = re.search(r":(\s|$)|\s#|\s$|---", text)
    if PLAIN_SCALAR.fullmatch(text) and not has_special_characters and not _is_other_type(text):
        return text
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
    escaped = "".join(escapes.get(char) or (char if _is_printable(char) else _escaped(char)) for char in text)
    return '"' + re.sub("-(?=--)", r"\\x2D", escaped) + '"'


def _is_other_type(text: str) -> bool:
    """Return whether YAML would parse the text as a number, a date, a Boolean or null."""
    return bool(
        re.fullmatch(
            r"(?i)(true|false|yes|no|on|off|y|n|null|~|\.nan|[-+]?\.inf)|[-+.\d][\d_.:eExXoOa-fA-F+\-TZ ]*", text
        )
    )


def _is_printable(char: str) -> bool:
    return char == " " or (char.isprintable() and char not in "\ufeff")


def _escaped(char: str) -> str:
    number = ord(char)
    if 0xD800 <= number < 0xE000:
        return "\\uFFFD"
    if number < 256:
        return f"\\x{number:02X}"
    return f"\\u{number:04X}" if number < 65536 else f"\\U{number:08X}"
