"""Splits a command line into words, redirections and here-documents, as every shell does.

Permission rules are checked against these words. A line that shells could read differently is therefore rejected with a
reason, instead of being read as one particular shell would.
"""

import re
import unicodedata
from dataclasses import dataclass, field

MAX_LENGTH = 4_000
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-^~")
OPERATORS = re.compile(r"&&|\|\||[;|\n]")
WORD_END = frozenset(" \t\n;|&<>")
QUOTES = frozenset("'\"\\")
REDIRECTION = re.compile(r"(\d?)(>>|>&|>\||<<-|<<<|<<|<&|<>|>|<)")
# The stream numbers that may precede each operator; "" is its default.
STREAMS = {"<": ("", "0"), ">": ("", "1", "2"), ">>": ("", "1", "2")}
DUPLICATED_STREAM = re.compile(r"[12](?=[ \t\n;|&]|$)")
DELIMITER = re.compile(r"[ \t]*(['\"]?)([A-Za-z_][A-Za-z0-9_]*)\1(?=[ \t\n;|&<>]|$)")
EMPTY_BRACES = re.compile(r"\{\}(?=[ \t\n;|&<>]|$)|(?<=@)\{[A-Za-z0-9_-]{0,20}\}")
OUTPUT_DEVICES = ("/dev/null", "/dev/stdout", "/dev/stderr")
INPUT = "it redirects input with <"
OUTPUT = "it redirects output with >"
HIDDEN = "it contains invisible characters"
NUMBERED_STREAM = "it redirects a numbered stream"
OPEN_HERE_DOCUMENT = "a here-document is not closed"
SPECIAL_CHARACTERS = {
    "$": "a shell would expand $",
    "`": "a shell would run the text between backticks",
    "\\": "a backslash changes the meaning of the next character",
    "<": INPUT,
    ">": OUTPUT,
    "(": "it contains a group in ( )",
    ")": "it contains a group in ( )",
    "{": "it contains a list in { }",
    "}": "it contains a list in { }",
    "*": "* expands to file names that cannot be known in advance",
    "?": "? expands to file names that cannot be known in advance",
    "[": "[ expands to file names that cannot be known in advance",
    "]": "] expands to file names that cannot be known in advance",
    "#": "# turns the rest of the line into a comment",
    "!": "! changes the meaning of a command",
}


class GlobPattern(str):
    """A word with `*` or `?`, which the shell replaces by the names of matching files."""

    __slots__ = ()


# Stands for file names, anywhere in the folder, that are known only when the command runs.
ANY_NAMES = GlobPattern("**")


class Rejected(Exception):
    """Raised if a command line cannot be parsed; the message is a clause such as "it is empty"."""


@dataclass(slots=True)
class ShellLine:
    """A command line split as a shell does.

    Attributes:
        commands: the words of each command as written, including wrappers such as `timeout`.
        operators: the operator after each command: `&&`, `||`, `|`, `;` or a line break.
        inputs, outputs: the files after `<`, and after `>` or `>>`.
        redirects: whether anything is redirected, including streams and here-documents.
        embeds_text: whether the line has here-documents or arguments of several lines.
        special: the first reason why no permission rule can cover the line; "" if one can.
    """

    commands: list[tuple[str, ...]] = field(default_factory=list)
    operators: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    redirects: bool = False
    embeds_text: bool = False
    special: str = ""

    def note(self, reason: str) -> None:
        """Remember the first reason why no permission rule can cover the line."""
        self.special = self.special or reason

    def include(self, inner: "ShellLine") -> None:
        """Add the files, texts and redirections of a line that an inner shell, such as `sh -c`, runs."""
        self.note(inner.special)
        self.inputs += inner.inputs
        self.outputs += inner.outputs
        self.embeds_text = self.embeds_text or inner.embeds_text
        self.redirects = self.redirects or inner.redirects
        self.operators.append(";")


def split_line(text: str) -> ShellLine:
    """Split a command line; raise Rejected if shells would read it differently, or if it uses unsupported syntax."""
    if len(text) > MAX_LENGTH:
        raise Rejected(f"it is longer than {MAX_LENGTH} characters")
    # Blank lines at the end may belong to a here-document.
    return _LineSplitter(text.lstrip(" \t\n") if "<<" in text else text.strip(" \t\n")).split()


@dataclass(slots=True)
class _Cursor:
    """A position in a text that moves forward."""

    text: str
    at: int = 0

    def peek(self, ahead: int = 0) -> str:
        """Return the character `ahead` positions further without moving; "" after the end of the text."""
        index = self.at + ahead
        return self.text[index] if index < len(self.text) else ""

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match a pattern at the current position and move behind the match; return None, without moving, else."""
        if match := pattern.match(self.text, self.at):
            self.at = match.end()
        return match

    def take_line(self) -> str:
        """Return the rest of the line without its line break, and move to the next line."""
        line, line_break, _ = self.text[self.at :].partition("\n")
        self.at += len(line) + len(line_break)
        return line


@dataclass(frozen=True, slots=True)
class _HereDocument:
    """A here-document whose text begins on the next line. A quoted delimiter prevents expansion by the shell."""

    delimiter: str
    is_quoted: bool
    strips_tabs: bool

    def read(self, cursor: _Cursor) -> None:
        """Move behind the text of the here-document; raise Rejected if a shell would expand it or it is not closed."""
        lines: list[str] = []
        while cursor.peek():
            line = cursor.take_line()
            line = line.lstrip("\t") if self.strips_tabs else line
            if line == self.delimiter:
                break
            lines.append(line)
        else:
            raise Rejected(OPEN_HERE_DOCUMENT)
        text = "\n".join(lines)
        if not self.is_quoted and not set("$`\\").isdisjoint(text):
            raise Rejected("a shell would expand the here-document")
        if not all(char.isprintable() or char in "\n\t" for char in text):
            raise Rejected(HIDDEN)


class _LineSplitter:
    """Splits one command line. Each method consumes one construct of the shell grammar and adds it to the result."""

    def __init__(self, text: str) -> None:
        self._cursor = _Cursor(text)
        self._line = ShellLine()
        self._words: list[str] = []  # the words of the current command
        self._here_documents: list[_HereDocument] = []

    def split(self) -> ShellLine:
        while char := self._cursor.peek():
            if char in " \t":
                self._cursor.at += 1
            elif char == "#":
                self._skip_comment()
            elif match := self._cursor.take(OPERATORS):
                self._end_command(match[0])
            elif match := self._cursor.take(REDIRECTION):
                self._redirect(*match.groups())
                if not self._words:
                    raise Rejected("it redirects without a command")
            else:
                self._words.append(self._word())
        if self._here_documents:
            raise Rejected(OPEN_HERE_DOCUMENT)
        if self._words:
            self._line.commands.append(tuple(self._words))
        elif not self._line.operators:
            raise Rejected("it is empty")
        elif self._line.operators[-1] not in (";", "\n"):
            raise Rejected("a command is missing")
        return self._line

    def _skip_comment(self) -> None:
        if self._words:  # a comment after a command could mislead the user about what runs
            raise Rejected(SPECIAL_CHARACTERS["#"])
        self._line.note(SPECIAL_CHARACTERS["#"])
        line_end = self._cursor.text.find("\n", self._cursor.at)
        self._cursor.at = line_end if line_end >= 0 else len(self._cursor.text)

    def _end_command(self, operator: str) -> None:
        """Finish the command before an operator; after a line break, read the pending here-documents."""
        if operator == "\n":
            for document in self._here_documents:
                document.read(self._cursor)
                self._line.embeds_text = True
            self._here_documents.clear()
        if self._words:
            self._line.commands.append(tuple(self._words))
            self._line.operators.append(operator)
            self._words = []
        elif operator == "\n":
            self._line.note("it has an empty line")
        else:
            raise Rejected("two operators follow each other")

    # Words

    def _word(self) -> str:
        """Consume a word and return it without quotes, as a GlobPattern if the shell would expand it."""
        cursor, start = self._cursor, self._cursor.at
        word = ""
        has_wildcard = has_quotes = False
        while (char := cursor.peek()) and char not in WORD_END:
            if char in QUOTES:
                has_quotes = True
                word += self._quoted(char)
            elif braces := EMPTY_BRACES.match(cursor.text, cursor.at):
                if braces[0] == "{}" and cursor.at != start:
                    raise Rejected(SPECIAL_CHARACTERS["{"])
                self._line.note(SPECIAL_CHARACTERS["{"])
                word += braces[0]
                cursor.at = braces.end()
            else:
                self._check_unquoted(char, word, is_first=cursor.at == start)
                has_wildcard = has_wildcard or char in "*?"
                word += char
                cursor.at += 1
        if cursor.peek() == "&" and cursor.peek(1) != "&":
            raise Rejected("& starts something in the background")
        if word.isdigit() and cursor.peek() in ("<", ">"):
            raise Rejected(NUMBERED_STREAM)
        return self._pattern(word, has_quotes=has_quotes) if has_wildcard else word

    def _pattern(self, word: str, *, has_quotes: bool) -> str:
        """Return a word with `*` or `?` as a GlobPattern; raise Rejected if it might match files outside its folder."""
        if not has_quotes and re.match(r"--[a-z][a-z-]*=", word):
            return word  # it could only expand to a file whose name begins with that option
        if re.search(r"(^|/)\.[*?]", word):
            raise Rejected("a file name pattern may match the folder above")
        if has_quotes or word.startswith(("-", "=")):
            raise Rejected("a file name pattern is partly quoted")
        self._line.note(SPECIAL_CHARACTERS[next(char for char in word if char in "*?")])
        return GlobPattern(word)

    def _quoted(self, quote: str) -> str:
        """Consume the quoted part of a word that begins with this character, and return its text."""
        match quote:
            case "'":
                return self._single_quoted()
            case '"':
                return self._double_quoted()
            case _:
                return self._escaped()

    def _single_quoted(self) -> str:
        text, cursor = "", self._cursor
        cursor.at += 1
        while (char := cursor.peek()) != "'":
            text += self._check_quoted(char)
            cursor.at += 1
        cursor.at += 1
        return text

    def _double_quoted(self) -> str:
        text, cursor = "", self._cursor
        cursor.at += 1
        while (char := cursor.peek()) != '"':
            if char in ("$", "`", "!"):
                raise Rejected(f"a shell would expand {char}")
            if char == "\\":
                cursor.at += 1
                following = cursor.peek()
                if following in ("", "\n", "!"):
                    raise Rejected(SPECIAL_CHARACTERS["\\"])
                self._line.note("a shell would expand \\")
                self._line.embeds_text = True
                char = following
                text += "" if following in '"\\$`' else "\\"
            text += self._check_quoted(char)
            cursor.at += 1
        cursor.at += 1
        return text

    def _check_quoted(self, char: str) -> str:
        """Return a quoted character; raise Rejected if it is invisible, or "" because the quote is not closed."""
        if not char:
            raise Rejected("a quote is not closed")
        if char == "\n":
            self._line.note(HIDDEN)
            self._line.embeds_text = True
        elif not char.isprintable():
            raise Rejected(HIDDEN)
        return char

    def _escaped(self) -> str:
        """Consume a backslash and the character after it, outside quotes; return that character."""
        self._line.note(SPECIAL_CHARACTERS["\\"])
        escaped = self._cursor.peek(1)
        if not escaped or not (escaped.isascii() and escaped.isprintable()) or escaped.isalnum():
            raise Rejected(SPECIAL_CHARACTERS["\\"])
        self._cursor.at += 2
        return escaped

    def _check_unquoted(self, char: str, word: str, *, is_first: bool) -> None:
        """Raise Rejected for an unquoted character with a special meaning; `word` is the part of the word before it."""
        # As the brackets in `[ -f x ]`.
        is_alone = is_first and self._cursor.peek(1) in ("", " ", "\t", "\n", ";", "|", "&")
        if char == "~" and (not word or word.endswith((":", "="))):
            raise Rejected("~ expands to a home folder")
        if char == "=" and not word and not is_alone:
            raise Rejected("= may expand to the path of a program")
        if char in PLAIN or char in "*?":
            return
        if (char in "[]" and is_alone) or (char == "#" and not is_first):
            self._line.note(SPECIAL_CHARACTERS[char])
        elif char.isascii():
            unnamed = f"{char!r} has a special meaning to a shell" if char.isprintable() else HIDDEN
            raise Rejected(SPECIAL_CHARACTERS.get(char, unnamed))
        elif unicodedata.category(char)[0] != "L" or unicodedata.normalize("NFKC", char) != char:
            raise Rejected(f"U+{ord(char):04X} is not a plain letter")

    # Redirections

    def _redirect(self, stream: str, operator: str) -> None:
        """Consume the target of a redirection. `stream` is the digit before the operator, such as 2 in `2>`, or ""."""
        self._line.redirects = True
        if operator in ("<<", "<<-"):
            delimiter = self._cursor.take(DELIMITER) if stream in STREAMS["<"] else None
            if not delimiter:
                raise Rejected("it has a here-document that is not understood")
            self._line.note(INPUT)
            self._here_documents.append(_HereDocument(delimiter[2], bool(delimiter[1]), operator == "<<-"))
        elif operator == ">&":
            if stream not in STREAMS[">"] or not self._cursor.take(DUPLICATED_STREAM):
                raise Rejected(NUMBERED_STREAM)
        elif stream in STREAMS.get(operator, ()):
            self._redirect_file(is_input=operator == "<")
        else:
            raise Rejected("it redirects in a way that is not understood")

    def _redirect_file(self, *, is_input: bool) -> None:
        while self._cursor.peek() in (" ", "\t"):
            self._cursor.at += 1
        path = self._word()
        if not path or isinstance(path, GlobPattern):
            raise Rejected("it redirects to a file that is not known")
        if path in OUTPUT_DEVICES and not is_input:
            return
        if path.startswith(("/dev", "/proc")) and path != "/dev/null":
            raise Rejected("it redirects to a device")
        self._line.note(INPUT if is_input else OUTPUT)
        files = self._line.inputs if is_input else self._line.outputs
        files.append(path)
