"""A tokenizer for syntax highlighting. It finds the comments, strings, numbers and keywords in a line of code."""

import re
from collections.abc import Iterator
from types import MappingProxyType
from typing import Final, NamedTuple


class SyntaxSpan(NamedTuple):
    """A part of a line and its kind, such as `string` or `quiet` (a comment). `start` is a column, counted from 0."""

    start: int
    length: int
    kind: str


class CodeLanguage(NamedTuple):
    """The comment prefix and the keywords of a programming language, and the quotes of its multi-line strings."""

    comment: str
    keywords: frozenset[str] = frozenset()
    quotes: tuple[str, ...] = ()  # delimiters of strings that may span several lines


def _keywords(text: str) -> frozenset[str]:
    return frozenset(text.split())


PYTHON: Final = _keywords(
    "and as assert async await break case class continue def del elif else except finally for from global if import in "
    "is lambda match nonlocal not or pass raise return self try while with yield None True False"
)
SHELL: Final = _keywords(
    "if then else elif fi for in do done while until case esac function return exit local export set unset shift trap "
    "source echo cd"
)
CURLY: Final = _keywords(
    "async await break case catch class const continue default do else enum export extends false finally fn for from "
    "func function if impl import in interface let match mut new nil null package private pub public return static "
    "struct switch this throw true try type undefined use var void while"
)
QUERY: Final = _keywords(
    "select from where join left inner outer on group by order limit insert into values update set delete create table "
    "and or not null as distinct having union with"
)
PLAIN: Final = CodeLanguage("")
LANGUAGES: Final = MappingProxyType(
    {
        "python": CodeLanguage("#", PYTHON, ('"""', "'''")),
        "shell": CodeLanguage("#", SHELL),
        "yaml": CodeLanguage("#", frozenset({"true", "false", "null"})),
        "json": CodeLanguage("", frozenset({"true", "false", "null"})),
        "curly": CodeLanguage("//", CURLY, ("`",)),
        "query": CodeLanguage("--", QUERY),
        "plain": PLAIN,
    }
)
LANGUAGE_OF_NAME: Final = MappingProxyType(
    {
        **dict.fromkeys(("py", "python", "python3", "pyi"), "python"),
        **dict.fromkeys(("sh", "bash", "shell", "zsh", "console", "fish", "dockerfile", "makefile"), "shell"),
        **dict.fromkeys(("yaml", "yml", "toml", "ini", "cfg", "rb", "ruby", "r", "pl"), "yaml"),
        **dict.fromkeys(("json", "jsonl", "json5"), "json"),
        **dict.fromkeys(
            ("js", "jsx", "ts", "tsx", "mjs", "javascript", "typescript", "go", "rust", "rs", "java", "kt", "c", "h"),
            "curly",
        ),
        **dict.fromkeys(("cpp", "cs", "swift", "php", "css", "scss"), "curly"),
        "sql": "query",
    }
)
TOKEN: Final = re.compile(
    r"(?P<string>\"(?:\\.|[^\"\\])*\"?|'(?:\\.|[^'\\])*')"
    r"|(?P<number>(?<![\w.])\d[\w.]*)"
    r"|(?P<variable>\$(?:\w+|[@*#?]|\{[^}]*\}?))"
    r"|(?P<word>[A-Za-z_]\w*)"
)


def code_spans(line: str, language: str, open_quotes: str) -> Iterator[SyntaxSpan]:
    """Yield the tokens of a line.

    `open_quotes` is the delimiter of a string that began on an earlier line; "" if there is none.
    """
    rules = LANGUAGES.get(language, PLAIN)
    for stretch in _divide(line, rules, open_quotes).stretches:
        if stretch.kind != "code":
            yield stretch
            continue
        for part in TOKEN.finditer(line, stretch.start, stretch.start + stretch.length):
            kind = part.lastgroup or ""
            if kind == "word":
                word = part["word"].casefold() if rules.keywords is QUERY else part["word"]
                if word not in rules.keywords:
                    continue
            yield SyntaxSpan(part.start(), part.end() - part.start(), kind)


def open_quotes_after(line: str, language: str, open_quotes: str) -> str:
    """Return the delimiter of a string that continues on the next line; "" if there is none."""
    rules = LANGUAGES.get(language, PLAIN)
    if not open_quotes and not any(quotes in line for quotes in rules.quotes):
        return ""
    return _divide(line, rules, open_quotes).open_quotes


class DividedLine(NamedTuple):
    """A line, divided into code, multi-line strings and a trailing comment.

    `open_quotes` is the delimiter of a string that is still open at the end of the line; "" if there is none.
    """

    stretches: list[SyntaxSpan]
    open_quotes: str


class OpeningQuote(NamedTuple):
    """Where a multi-line string begins, and its delimiter."""

    position: int
    quotes: str


def _divide(line: str, language: CodeLanguage, opened: str) -> DividedLine:
    """Divide a line, in which the string with the delimiter `opened` is still open."""
    if language is PLAIN:
        return DividedLine([], "")
    spans: list[SyntaxSpan] = []
    at = begin = 0
    while begin < len(line):
        if opened:
            close = line.find(opened, at)
            end = len(line) if close < 0 else close + len(opened)
            spans.append(SyntaxSpan(begin, end - begin, "string"))
            if close < 0:
                return DividedLine(spans, opened)
            at = begin = end
            opened = ""
            continue
        string_start, opened = _next_opening_quote(line, language, at)
        comment = _comment(line, language, at, string_start)
        if comment >= 0:
            spans += [SyntaxSpan(at, comment - at, "code"), SyntaxSpan(comment, len(line) - comment, "quiet")]
            return DividedLine(spans, "")
        spans.append(SyntaxSpan(at, string_start - at, "code"))
        begin, at = string_start, string_start + len(opened)
    return DividedLine(spans, opened)


def _next_opening_quote(line: str, language: CodeLanguage, at: int) -> OpeningQuote:
    """Return the next multi-line string that begins at or after `at`; without one, the end of the line."""
    found = (OpeningQuote(line.find(quotes, at), quotes) for quotes in language.quotes)
    return min((quote for quote in found if quote.position >= 0), default=OpeningQuote(len(line), ""))


def _comment(line: str, language: CodeLanguage, start: int, end: int) -> int:
    """Return where the comment of a line begins; -1 without one. Comment prefixes within strings are ignored."""
    at = line.find(language.comment, start, end) if language.comment else -1
    if at < 0:
        return -1
    quoted = [(part.start(), part.end()) for part in TOKEN.finditer(line, start, end) if part["string"]]
    while at >= 0:
        free = at == 0 or language.comment != "#" or line[at - 1] in " \t;("
        if free and not any(begin < at < stop for begin, stop in quoted):
            return at
        at = line.find(language.comment, at + 1, end)
    return -1
