"""Splits a command line into words, redirections and here-documents, where every shell would split it alike."""

import re
import unicodedata
from dataclasses import dataclass, field

MAX_LENGTH = 4_000
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-^~")
OPERATORS = ("&&", "||", ";", "|", "\n")
REDIRECTION = re.compile(r"(\d?)(>>|>&|>\||<<-|<<<|<<|<&|<>|>|<)")
DELIMITER = re.compile(r"[ \t]*(['\"]?)([A-Za-z_][A-Za-z0-9_]*)\1(?=[ \t\n;|&<>]|$)")
EMPTY_BRACES = re.compile(r"\{\}(?=[ \t\n;|&<>]|$)|(?<=@)\{[A-Za-z0-9_-]{0,20}\}")
DEVICES = ("/dev/null", "/dev/stdout", "/dev/stderr")
INPUT = "it redirects input with <"
HIDDEN = "it contains invisible characters"
SPECIAL_CHARACTERS = {
    "$": "a shell would expand $",
    "`": "a shell would run the text between backticks",
    "\\": "a backslash changes the meaning of the next character",
    "<": "it redirects input with <",
    ">": "it redirects output with >",
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
    """A word with `*` or `?` that the shell replaces by the names of the files that match it."""

    __slots__ = ()


ANY_NAMES = GlobPattern("**")  # stands for names that a command is given while it runs, of any files in the folder


class Rejected(Exception):
    """Raised with the reason why a command line cannot be parsed."""


@dataclass(slots=True)
class ShellWords:
    """Splits a line into the words of its commands, and collects what it names besides."""

    text: str
    special: str = ""
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    embeds_text: bool = False
    redirects: bool = False
    joins: list[str] = field(default_factory=list)
    _at: int = 0
    _delimiters: list[tuple[str, bool, bool]] = field(default_factory=list)  # word, quoted, tabs removed

    def commands(self) -> list[tuple[str, ...]]:
        """Return the words of each command as written, wrappers included."""
        if len(self.text) > MAX_LENGTH:
            raise Rejected(f"it is longer than {MAX_LENGTH} characters")
        text = self.text = self.text.lstrip(" \t\n") if "<<" in self.text else self.text.strip(" \t\n")
        commands: list[list[str]] = [[]]
        last_operator = ""  # the operator before the current command
        redirected = False
        while self._at < len(text):
            operator = next((operator for operator in OPERATORS if text.startswith(operator, self._at)), "")
            if text[self._at] in " \t":
                self._at += 1
            elif text[self._at] == "#":
                if commands[-1]:  # behind a command, it could hide from the reader what a shell runs
                    raise Rejected(SPECIAL_CHARACTERS["#"])
                self.note(SPECIAL_CHARACTERS["#"])
                self._at = end if (end := text.find("\n", self._at)) >= 0 else len(text)
            elif operator:
                self._at += len(operator)
                if operator == "\n" and self._delimiters:
                    self._here_documents()
                if commands[-1]:
                    commands.append([])
                    self.joins.append(operator)
                    last_operator, redirected = operator, False
                elif operator == "\n":
                    self.note("it has an empty line")
                else:
                    raise Rejected("two operators follow each other")
            elif match := REDIRECTION.match(text, self._at):
                redirected = True
                self._redirection(match)
            else:
                commands[-1].append(self._word())
            if redirected and not commands[-1]:
                raise Rejected("it redirects without a command")
        if self._delimiters:
            raise Rejected("a here-document is not closed")
        if not commands[-1] and last_operator in (";", "\n"):
            commands.pop()
        if not all(commands):
            raise Rejected("a command is missing" if last_operator else "it is empty")
        return [tuple(words) for words in commands]

    def include(self, inner: "ShellWords") -> None:
        """Add what the line of an inner shell names."""
        if inner.special:
            self.note(inner.special)
        self.inputs += inner.inputs
        self.outputs += inner.outputs
        self.embeds_text = self.embeds_text or inner.embeds_text
        self.redirects = self.redirects or inner.redirects
        self.joins.append(";")

    def note(self, reason: str) -> None:
        """Remember the first reason why no rule can cover the line."""
        self.special = self.special or reason

    def _word(self) -> str:
        """Return the word at the current position."""
        text, start, word, pattern, quoted = self.text, self._at, "", False, False
        while self._at < len(text) and (char := text[self._at]) not in " \t\n;|&<>":
            if char in "'\"":
                quoted = True
                word += self._quoted(char)
            elif char == "\\":
                word += self._escaped()
                quoted = True
            elif match := EMPTY_BRACES.match(text, self._at):
                if match[0] == "{}" and start != self._at:
                    raise Rejected(SPECIAL_CHARACTERS["{"])
                self.note(SPECIAL_CHARACTERS["{"])
                word += match[0]
                self._at = match.end()
            else:
                self._plain(char, start == self._at, word)
                pattern = pattern or char in "*?"
                word += char
                self._at += 1
        if self._at < len(text) and text[self._at] == "&" and not text.startswith("&&", self._at):
            raise Rejected("& starts something in the background")
        if self._at < len(text) and text[self._at] in "<>" and word.isdigit():
            raise Rejected("it redirects a numbered stream")
        if not pattern:
            return word
        option = re.match(r"--[a-z][a-z-]*=", word)
        if option and not quoted:  # it could only expand to a file whose name begins like the option
            return word
        if re.search(r"(^|/)\.[*?]", word):
            raise Rejected("a file name pattern may match the folder above")
        if quoted or word.startswith(("-", "=")):
            raise Rejected("a file name pattern is partly quoted")
        self.note(
            f"{next(char for char in word if char in '*?')} expands to file names that cannot be known in advance"
        )
        return GlobPattern(word)

    def _quoted(self, quote: str) -> str:
        """Return the text in the quotes that begin here, if no shell would change it."""
        inner = ""
        self._at += 1
        while self._at < len(self.text) and (char := self.text[self._at]) != quote:
            if quote == '"' and char in "$`!":
                raise Rejected(f"a shell would expand {char}")
            if quote == '"' and char == "\\":
                after = self.text[self._at + 1 : self._at + 2]
                if after in ("", "\n", "!"):
                    raise Rejected(SPECIAL_CHARACTERS["\\"])
                self.note("a shell would expand \\")
                self.embeds_text = True
                char = after if after in '"\\$`' else char + after
                self._at += 1
            if not all(each.isprintable() for each in char):
                if char != "\n":
                    raise Rejected(HIDDEN)
                self.note(HIDDEN)
                self.embeds_text = True
            inner += char
            self._at += 1
        if self._at >= len(self.text):
            raise Rejected("a quote is not closed")
        self._at += 1
        return inner

    def _escaped(self) -> str:
        """Return the character after a backslash outside quotes."""
        self.note(SPECIAL_CHARACTERS["\\"])
        after = self.text[self._at + 1 : self._at + 2]
        if not after or not (after.isascii() and after.isprintable()) or after.isalnum():
            raise Rejected(SPECIAL_CHARACTERS["\\"])
        self._at += 2
        return after

    def _plain(self, char: str, first: bool, before: str) -> None:
        """Reject a character outside quotes that has a meaning to a shell. `before` is the word so far."""
        if char in PLAIN:
            if char == "~" and (not before or before.endswith((":", "="))):
                raise Rejected("~ expands to a home folder")
            if char == "=" and not before and not self._alone(first):
                raise Rejected("= may expand to the path of a program")
            return
        if char in "*?" or (char in "[]" and self._alone(first)) or (char == "#" and not first):
            if char not in "*?":
                self.note(SPECIAL_CHARACTERS[char])
            return
        if char.isascii():
            reason = SPECIAL_CHARACTERS.get(
                char, f"{char!r} has a special meaning to a shell" if char.isprintable() else HIDDEN
            )
            raise Rejected(reason)
        if unicodedata.category(char)[0] != "L" or unicodedata.normalize("NFKC", char) != char:
            raise Rejected(f"U+{ord(char):04X} is not a plain letter")

    def _alone(self, first: bool) -> bool:
        """Return whether the character here is a word of its own, such as the brackets of `[ -f x ]`."""
        return first and self.text[self._at + 1 : self._at + 2] in ("", " ", "\t", "\n", ";", "|", "&")

    def _redirection(self, match: re.Match[str]) -> None:
        number, operator = match.groups()
        self._at = match.end()
        self.redirects = True
        if operator in ("<<", "<<-"):
            if number not in ("", "0") or not (delimiter := DELIMITER.match(self.text, self._at)):
                raise Rejected("it has a here-document that is not understood")
            self.note(INPUT)
            self._delimiters.append((delimiter[2], bool(delimiter[1]), operator == "<<-"))
            self._at = delimiter.end()
            return
        if operator == ">&":
            if self.text[self._at : self._at + 1] not in ("1", "2") or number not in ("", "1", "2"):
                raise Rejected("it redirects a numbered stream")
            self._at += 1
            if self._at < len(self.text) and self.text[self._at] not in " \t\n;|&":
                raise Rejected("it redirects a numbered stream")
            return
        if operator not in (">", ">>", "<") or number not in (("", "0") if operator == "<" else ("", "1", "2")):
            raise Rejected("it redirects in a way that is not understood")
        while self.text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1
        target = self._word()
        if not target or isinstance(target, GlobPattern):
            raise Rejected("it redirects to a file that is not known")
        if target in DEVICES and operator != "<":
            return
        if target.startswith(("/dev", "/proc")) and target != "/dev/null":
            raise Rejected("it redirects to a device")
        self.note(INPUT if operator == "<" else "it redirects output with >")
        (self.inputs if operator == "<" else self.outputs).append(target)

    def _here_documents(self) -> None:
        """Read the here-documents that were announced on the line that ends here."""
        for word, quoted, tabs in self._delimiters:
            body: list[str] = []
            while True:
                if self._at >= len(self.text):
                    raise Rejected("a here-document is not closed")
                line, newline, _ = self.text[self._at :].partition("\n")
                self._at += len(line) + len(newline)
                line = line.lstrip("\t") if tabs else line
                if line == word:
                    break
                body.append(line)
            text = "\n".join(body)
            if not quoted and (set(text) & set("$`\\")):
                raise Rejected("a shell would expand the here-document")
            if not all(char.isprintable() or char in "\n\t" for char in text):
                raise Rejected(HIDDEN)
            self.embeds_text = True
        self._delimiters.clear()
