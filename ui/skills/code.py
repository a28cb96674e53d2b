"""What the parts of a line of code are: comments, strings, numbers and the words of a language."""

import re
from collections.abc import Iterator
from types import MappingProxyType
from typing import Final, NamedTuple


class Span(NamedTuple):
    """Part of a line, and what it is."""

    start: int
    length: int
    kind: str


class Language(NamedTuple):
    """What tells comments and words of a language."""

    comment: str
    words: frozenset[str] = frozenset()
    quotes: tuple[str, ...] = ()  # that may run over lines


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PYTHON: Final = _words(
    "and as assert async await break case class continue def del elif else except finally for from global if import in "
    "is lambda match nonlocal not or pass raise return self try while with yield None True False"
)
SHELL: Final = _words(
    "if then else elif fi for in do done while until case esac function return exit local export set unset shift trap "
    "source echo cd"
)
CURLY: Final = _words(
    "async await break case catch class const continue default do else enum export extends false finally fn for from "
    "func function if impl import in interface let match mut new nil null package private pub public return static "
    "struct switch this throw true try type undefined use var void while"
)
QUERY: Final = _words(
    "select from where join left inner outer on group by order limit insert into values update set delete create table "
    "and or not null as distinct having union with"
)
PLAIN: Final = Language("")
LANGUAGES: Final = MappingProxyType(
    {
        "python": Language("#", PYTHON, ('"""', "'''")),
        "shell": Language("#", SHELL),
        "yaml": Language("#", frozenset({"true", "false", "null"})),
        "json": Language("", frozenset({"true", "false", "null"})),
        "curly": Language("//", CURLY, ("`",)),
        "query": Language("--", QUERY),
        "plain": PLAIN,
    }
)
NAMES: Final = MappingProxyType(
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


def parts(line: str, name: str, opened: str) -> Iterator[Span]:
    """The parts of a line; `opened` are quotes that an earlier line left open."""
    language = LANGUAGES.get(name, PLAIN)
    for stretch in _stretches(line, language, opened)[0]:
        if stretch.kind != "code":
            yield stretch
            continue
        for part in TOKEN.finditer(line, stretch.start, stretch.start + stretch.length):
            kind = part.lastgroup or ""
            if kind == "word":
                word = part["word"].casefold() if language.words is QUERY else part["word"]
                if word not in language.words:
                    continue
            yield Span(part.start(), part.end() - part.start(), kind)


def ends(line: str, name: str, opened: str) -> str:
    """The quotes that are open at the end of a line."""
    return _stretches(line, LANGUAGES.get(name, PLAIN), opened)[1]


def _stretches(line: str, language: Language, opened: str) -> tuple[list[Span], str]:
    """Code, strings that may run over lines, and the comment at the end; and which quotes are still open then."""
    if language is PLAIN:
        return [], ""
    found: list[Span] = []
    at = begin = 0
    while begin < len(line):
        if opened:
            close = line.find(opened, at)
            end = len(line) if close < 0 else close + len(opened)
            found.append(Span(begin, end - begin, "string"))
            if close < 0:
                return found, opened
            at, begin, opened = end, end, ""
            continue
        place, opened = _next_open(line, language, at)
        remark = _comment(line, language, at, place)
        if remark >= 0:
            return [*found, Span(at, remark - at, "code"), Span(remark, len(line) - remark, "quiet")], ""
        found.append(Span(at, place - at, "code"))
        begin, at = place, place + len(opened)
    return found, opened


def _next_open(line: str, language: Language, at: int) -> tuple[int, str]:
    """Where the next quotes begin that may run over lines, and which they are."""
    places = [(line.find(quote, at), quote) for quote in language.quotes]
    return min(((place, quote) for place, quote in places if place >= 0), default=(len(line), ""))


def _comment(line: str, language: Language, start: int, end: int) -> int:
    """Where the comment begins that no string holds; -1 for none."""
    at = line.find(language.comment, start, end) if language.comment else -1
    if at < 0:
        return -1
    quoted = [(part.start(), part.end()) for part in TOKEN.finditer(line, start, end) if part["string"]]
    while at >= 0:
        free = at == 0 or language.comment != "#" or line[at - 1] in " \t;("
        if free and not any(one < at < other for one, other in quoted):
            return at
        at = line.find(language.comment, at + 1, end)
    return -1
