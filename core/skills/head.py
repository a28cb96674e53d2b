"""The front matter of a skill: the small part of YAML that people write there, read with the line of every fault.

Every value is text: `no`, `1.10` and dates stay what was written. Anchors, tags and nesting are not followed, so that
nothing small can become large; lines that are not understood are named and left as they are.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from core.domain.skill import Finding

FENCE: Final = re.compile(r"---[ \t]*\r?\n?")
KEY: Final = re.compile(
    r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s\-?:,\[\]{}#&*!|>'"%@`][^:#]*?|-[^\s:][^:]*?)\s*:(?=\s|$)(.*)"""
)
BLOCK: Final = re.compile(r"[|>](?:[+-]?[1-9]?|[1-9][+-])")
ESCAPES: Final = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b", " ": " ",
    '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
CODED: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|\n|.)", re.DOTALL)
# What reads as the same text again without quotation marks.
PLAIN: Final = re.compile(r"[A-Za-z0-9_./(À-ɏ][^\n\r\t\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]*")


@dataclass(frozen=True, slots=True)
class Field:
    """A key with what stands there: `text`, or a list in `items`, or names with texts in `pairs`.

    `line` is where it stands in the file, `end` the line behind it.
    """

    key: str
    line: int
    end: int
    text: str = ""
    items: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Head:
    """The fields in their order, and what is wrong. `end` is the line of the closing hyphens, 0 where it is open."""

    fields: list[Field] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    end: int = 0

    def of(self, key: str) -> Field | None:
        return next((each for each in self.fields if each.key == key), None)

    def fault(self, line: int, what: str, why: str = "", do: str = "") -> None:
        self.findings.append(Finding(line, what, why, do))


def read_head(lines: Sequence[str]) -> Head:
    """Of a file's lines. A first line without hyphens gives an empty head."""
    head = Head()
    end = next((n for n in range(1, len(lines)) if FENCE.fullmatch(lines[n])), 0)
    if not lines or not FENCE.fullmatch(lines[0]) or not end:
        return head
    head.end = end + 1
    inner = [line.rstrip("\r\n") for line in lines[1:end]]
    at = 0
    while at < len(inner):
        at = _field(head, inner, at)
    return head


def _field(head: Head, lines: list[str], at: int) -> int:
    """Read what begins on this line; the line behind it."""
    line, number = lines[at], at + 2
    if "---" in line:
        head.fault(number, "Three hyphens stand inside the front matter.", "Some programs end it there.", "Use a dash.")
    if not line.strip() or line.lstrip().startswith("#"):
        return at + 1
    found = KEY.fullmatch(line)
    if found is None:
        why = "It begins with blanks, and belongs to no key." if line[0] in " \t" else "There is no `key:` in it."
        head.fault(number, "This line is not understood.", why, "Write `key: value`; quote what has a colon in it.")
        return at + 1
    key = _unquoted(found[1])
    end = _end(lines, at + 1, found[2])
    made = _value(head, key, found[2].strip(), lines[at + 1 : end], number, end + 2)
    if head.of(key):
        head.fault(number, f"`{key}` stands here twice.", "Only the first one counts.", "Remove one of them.")
    else:
        head.fields.append(made)
    return end


def _end(lines: list[str], at: int, rest: str) -> int:
    """Behind the indented lines and list items that belong to a key; blank lines at the end belong to nobody."""
    end = at
    listed = not _uncommented(rest.strip())
    for place in range(at, len(lines)):
        line = lines[place]
        if line.startswith((" ", "\t")) or (listed and (line.startswith("- ") or line == "-")):
            end = place + 1
        elif line.strip() and not line.startswith("#"):
            break
    while end > at and not lines[end - 1].strip():
        end -= 1
    return end


def _value(head: Head, key: str, rest: str, block: list[str], line: int, end: int) -> Field:
    bare = _uncommented(rest)
    if any("\t" in text[: len(text) - len(text.lstrip())] for text in block):
        head.fault(line, f"`{key}` is indented with tabs.", "YAML wants blanks.", "Use blanks.")
    if not bare:
        return _nested(head, key, block, line, end)
    if BLOCK.fullmatch(bare):
        return Field(key, line, end, _block(bare, block))
    if bare[0] == "[":
        inner = _uncommented(" ".join([rest, *map(str.strip, block)])).strip()
        do = "Write the values in one line, with blanks between them." if key == "allowed-tools" else "Use `- ` lines."
        head.fault(line, f"`{key}` is a list in brackets.", "The format does not have these.", do)
        return Field(key, line, end, items=tuple(_flow(inner.removeprefix("[").removesuffix("]"))))
    if bare[0] in "{&*!%@`|>":
        why = "Braces, anchors, references, tags and signs that YAML keeps for itself are not read here."
        head.fault(line, f"The value of `{key}` is not plain text.", why, "Put it in quotation marks.")
        return Field(key, line, end, " ".join([bare, *map(str.strip, block)]).strip())
    return Field(key, line, end, _scalar(head, key, rest, block, line))


def _scalar(head: Head, key: str, rest: str, block: list[str], line: int) -> str:
    """Text with or without quotation marks, over one line or several."""
    if rest[:1] in ('"', "'"):
        whole = "\n".join([rest, *(text.strip() for text in block)])
        end = _closing(whole)
        if end and not _uncommented(whole[end:].strip()):
            return _unquoted(_folded(whole[:end]))
        why = "It is not closed." if not end else "Something stands behind the closing one."
        head.fault(line, f"The quotation marks of `{key}` do not fit.", why, "Close them at the end of the value.")
        return _folded(whole).strip("\"'")
    text = _folded("\n".join(_uncommented(part.strip()) for part in [rest, *block]))
    if re.search(r":(\s|$)", text):
        why = "In YAML that begins another value."
        head.fault(line, f"`{key}` has a colon with a blank behind it.", why, "Put the value in quotation marks.")
    return text


def _nested(head: Head, key: str, block: list[str], line: int, end: int) -> Field:
    """What stands under a key: items, names with values, or plain text."""
    said = [text for text in block if text.strip() and not text.lstrip().startswith("#")]
    if not said:
        return Field(key, line, end)
    if said[0].lstrip().startswith("- ") or said[0].strip() == "-":
        parts = _parts(said)
        return Field(
            key, line, end, items=tuple(_one(head, key, p[0].lstrip()[1:].strip(), p[1:], line) for p in parts)
        )
    if KEY.fullmatch(said[0].strip()):
        return Field(key, line, end, pairs=tuple(_pairs(head, key, block, line)))
    return Field(key, line, end, _scalar(head, key, said[0].strip(), said[1:], line))


def _pairs(head: Head, key: str, block: list[str], line: int) -> Iterator[tuple[str, str]]:
    kept = [text for text in block if text.strip()]
    for part in _parts(kept):
        if part[0].lstrip().startswith("#"):
            continue
        found = KEY.fullmatch(part[0].strip())
        number = line + 1 + block.index(part[0])
        if found is None:
            head.fault(number, f"This line of `{key}` is not understood.", "", "Write `name: value`.")
            continue
        rest = found[2].strip()
        block_sign = BLOCK.fullmatch(_uncommented(rest))
        value = _block(rest, part[1:]) if block_sign else _one(head, key, rest, part[1:], number)
        yield _unquoted(found[1]), value


def _one(head: Head, key: str, rest: str, block: list[str], line: int) -> str:
    """A value one floor down. What is nested deeper stays as it is written."""
    bare = _uncommented(rest)
    if bare[:1] in tuple("[{&*!%@`|>"):
        head.fault(line, f"A value of `{key}` is not plain text.", "", "Put it in quotation marks.")
        return " ".join([bare, *map(str.strip, block)])
    if not bare:
        return "\n".join(map(str.strip, block))
    return _scalar(head, key, rest, block, line)


def _parts(lines: list[str]) -> list[list[str]]:
    """Lines grouped under those with the least indentation."""
    least = min(len(text) - len(text.lstrip()) for text in lines)
    found: list[list[str]] = []
    for text in lines:
        if not found or len(text) - len(text.lstrip()) == least:
            found.append([text])
        else:
            found[-1].append(text)
    return found


def _block(sign: str, block: list[str]) -> str:
    """A text that keeps its lines (|) or runs together (>)."""
    said = [text for text in block if text.strip()]
    indent = min((len(text) - len(text.lstrip()) for text in said), default=0)
    lines = [text[indent:].rstrip() if text.strip() else "" for text in block]
    text = "\n".join(lines) if sign[0] == "|" else _folded("\n".join(lines))
    return text if "-" in sign else text + "\n"


def _folded(text: str) -> str:
    """Lines run together; an empty line is a line break."""
    parts = re.split(r"\n(?:[ \t]*\n)", text)
    return "\n".join(" ".join(line.strip() for line in part.split("\n")).strip() for part in parts)


def _uncommented(text: str) -> str:
    """Without a comment. A sign # begins one only behind a blank, and outside quotation marks."""
    if text[:1] in ('"', "'"):
        end = _closing(text)
        return text[:end] + re.sub(r"(^|\s)#.*", "", text[end:], flags=re.DOTALL) if end else text
    return re.sub(r"(^|\s)#.*", "", text).strip()


def _closing(text: str) -> int:
    """Behind the mark that closes a quoted text; 0 where there is none."""
    pattern = r'"(?:[^"\\]|\\.)*"' if text[0] == '"' else r"'(?:[^']|'')*'"
    found = re.match(pattern, text, re.DOTALL)
    return found.end() if found else 0


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        return CODED.sub(lambda found: _decoded(found[1]), text[1:-1])
    return text


def _decoded(code: str) -> str:
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
    return ESCAPES.get(code, code)


def _flow(inner: str) -> Iterator[str]:
    """The items of a list in brackets."""
    for found in re.finditer(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,]*)\s*(?:,|$)""", inner):
        if found[1].strip():
            yield _unquoted(found[1].strip())


def quoted(text: str) -> str:
    """A text as a value that every reader of YAML takes for this text."""
    if PLAIN.fullmatch(text) and not re.search(r":(\s|$)|\s#|\s$|---", text) and not _is_no_text(text):
        return text
    signs = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
    coded = "".join(signs.get(sign) or (sign if _prints(sign) else _coded(sign)) for sign in text)
    return '"' + re.sub("-(?=--)", r"\\x2D", coded) + '"'


def _is_no_text(text: str) -> bool:
    """Would YAML take it for a number, a date, or yes and no?"""
    return bool(
        re.fullmatch(
            r"(?i)(true|false|yes|no|on|off|y|n|null|~|\.nan|[-+]?\.inf)|[-+.\d][\d_.:eExXoOa-fA-F+\-TZ ]*", text
        )
    )


def _prints(sign: str) -> bool:
    return sign == " " or (sign.isprintable() and sign not in "\ufeff")


def _coded(sign: str) -> str:
    number = ord(sign)
    if 0xD800 <= number < 0xE000:
        return "\\uFFFD"
    return f"\\x{number:02X}" if number < 256 else f"\\u{number:04X}" if number < 65536 else f"\\U{number:08X}"
