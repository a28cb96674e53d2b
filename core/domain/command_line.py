"""A strict parser for shell command lines.

It accepts only what means the same to every shell, and rejects the rest with a reason. `parse_line` returns lines of
plain words, quotes around plain text and operators, which permission rules may cover. `read_line` also understands
redirections, here-documents, file name patterns, assignments and a few builtins.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache

from core.domain.command_tables import program_sets

MAX_LENGTH = 4_000
MAX_COMMANDS = 20
MAX_DEPTH = 3

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-^~")
OPERATORS = ("&&", "||", ";", "|", "\n")
NAME = re.compile(r"[A-Za-z0-9_.+-]+(/[A-Za-z0-9_.+-]+)*|/[A-Za-z0-9_.+/-]+|\./[A-Za-z0-9_.+/-]+")
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[.*\])?\+?=")
PLAIN_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(?!~).*", re.DOTALL)
DURATION = re.compile(r"\d{1,6}(\.\d+)?[smhd]?")
REDIRECTION = re.compile(r"(\d?)(>>|>&|>\||<<-|<<<|<<|<&|<>|>|<)")
DELIMITER = re.compile(r"[ \t]*(['\"]?)([A-Za-z_][A-Za-z0-9_]*)\1(?=[ \t\n;|&<>]|$)")
EMPTY_BRACES = re.compile(r"\{\}(?=[ \t\n;|&<>]|$)|(?<=@)\{[A-Za-z0-9_-]{0,20}\}")
DEVICES = ("/dev/null", "/dev/stdout", "/dev/stderr")
# Variables that change how the shell itself finds or reads the commands that follow.
SHELL_VARIABLES = frozenset(
    "PATH IFS CDPATH ENV BASH_ENV ZDOTDIR FPATH GLOBIGNORE SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND HOME OLDPWD PWD OPTIND"
    " UID EUID GID EGID PPID RANDOM SECONDS LINENO BASHPID USERNAME TTY argv0".split()
)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


SHELL_WORDS = _set(
    "if then else elif fi for while until do done case esac select function in { } [[ ]] ! : . source eval exec"
    " command builtin alias unalias export set unset shift trap cd pushd popd dirs read readonly declare typeset local"
    " let getopts hash enable shopt ulimit umask wait jobs fg bg disown return exit break continue coproc mapfile"
    " readarray caller complete compgen history fc bind logout suspend times [ type integer float foreach repeat end"
    " noglob nocorrect autoload zmodload emulate setopt unsetopt whence where vared limit unlimit print pushln rehash"
    " sched ttyctl unhash zcompile zle zparseopts zstyle zsocket ztcp"
)


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """A fully understood command line: the words of each command it runs.

    `single` means that it is one command without a wrapper such as `timeout`, which can be executed without a shell.
    """

    parts: tuple[tuple[str, ...], ...]
    single: bool


@dataclass(frozen=True, slots=True)
class ReadLine:
    """A command line of which every command, file and assignment is known.

    Attributes:
        parts: the words of each command; a word that the shell expands to file names is a `GlobPattern`.
        inputs, outputs: the files named after `<`, and after `>` or `>>`.
        assignments: the variables that it sets, as `NAME=value`.
        here_documents: the text that commands read from here-documents.
        special: why it is not a line of plain words, which a permission rule could cover; empty if it is one.
    """

    parts: tuple[tuple[str, ...], ...]
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    assignments: tuple[str, ...] = ()
    here_documents: tuple[str, ...] = ()
    special: str = ""
    single: bool = False


@dataclass(frozen=True, slots=True)
class UnclearLine:
    """A command line that is not fully understood. `reason` is a clause such as "it runs a script"."""

    reason: str


class GlobPattern(str):
    """A word with `*` or `?` that the shell replaces by the names of the files that match it."""

    __slots__ = ()


class _Rejected(Exception):
    """Raised with the reason why a command line cannot be parsed."""


@lru_cache(maxsize=1024)
def parse_line(text: str) -> ParsedLine | UnclearLine:
    """Return the commands that a line runs, including those behind wrappers such as `timeout`, or why it is unclear."""
    line = read_line(text)
    if isinstance(line, UnclearLine):
        return line
    return UnclearLine(line.special) if line.special else ParsedLine(line.parts, line.single)


@lru_cache(maxsize=1024)
def read_line(text: str) -> ReadLine | UnclearLine:
    """Return everything that a line runs, reads, writes and sets, or why it is unclear."""
    reader = _Reader(text)
    try:
        plain = reader.commands()
        parts = tuple(part for words in plain for part in reader.unwrap(words, 0))
    except _Rejected as refused:
        return UnclearLine(str(refused))
    if len(parts) > MAX_COMMANDS:
        return UnclearLine(f"it has more than {MAX_COMMANDS} parts")
    return ReadLine(
        parts,
        tuple(reader.inputs),
        tuple(reader.outputs),
        tuple(reader.assignments),
        tuple(reader.here_documents),
        reader.special,
        len(plain) == 1 and parts == (plain[0],),
    )


@dataclass(slots=True)
class _Reader:
    """Reads one line, including the lines of inner shells, and collects what it names besides commands."""

    text: str
    special: str = ""
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    assignments: list[str] = field(default_factory=list)
    here_documents: list[str] = field(default_factory=list)
    _at: int = 0
    _delimiters: list[tuple[str, bool, bool]] = field(default_factory=list)  # word, quoted, tabs removed

    def commands(self) -> list[tuple[str, ...]]:
        """Return the words of each command as written, wrappers included."""
        if len(self.text) > MAX_LENGTH:
            raise _Rejected(f"it is longer than {MAX_LENGTH} characters")
        text = self.text = self.text.lstrip(" \t\n") if "<<" in self.text else self.text.strip(" \t\n")
        commands: list[list[str]] = [[]]
        last = ""  # the operator before the current command
        redirected = False
        while self._at < len(text):
            join = next((join for join in OPERATORS if text.startswith(join, self._at)), "")
            if text[self._at] in " \t":
                self._at += 1
            elif text[self._at] == "#":
                self._note(SPECIAL_CHARACTERS["#"])
                self._at = end if (end := text.find("\n", self._at)) >= 0 else len(text)
            elif join:
                self._at += len(join)
                if join == "\n" and self._delimiters:
                    self._here_documents()
                if commands[-1]:
                    commands.append([])
                    last, redirected = join, False
                elif join == "\n":
                    self._note("it has an empty line")
                else:
                    raise _Rejected("two operators follow each other")
            elif found := REDIRECTION.match(text, self._at):
                redirected = True
                self._redirection(found)
            else:
                commands[-1].append(self._word())
            if redirected and not commands[-1]:
                raise _Rejected("it redirects without a command")
        if self._delimiters:
            raise _Rejected("a here-document is not closed")
        if not commands[-1] and last in (";", "\n"):
            commands.pop()
        if not all(commands):
            raise _Rejected("a command is missing" if last else "it is empty")
        return [tuple(words) for words in commands]

    def _note(self, reason: str) -> None:
        """Remember the first reason why no rule can cover the line."""
        self.special = self.special or reason

    def _word(self) -> str:
        """Return the word at the current position."""
        text, begin, word, pattern, quoted = self.text, self._at, "", False, False
        while self._at < len(text) and (char := text[self._at]) not in " \t\n;|&<>":
            if char in "'\"":
                quoted = True
                word += self._quoted(char)
            elif char == "\\":
                word += self._escaped()
                quoted = True
            elif found := EMPTY_BRACES.match(text, self._at):
                if found[0] == "{}" and begin != self._at:
                    raise _Rejected(SPECIAL_CHARACTERS["{"])
                self._note(SPECIAL_CHARACTERS["{"])
                word += found[0]
                self._at = found.end()
            else:
                self._plain(char, begin == self._at, word)
                pattern = pattern or char in "*?"
                word += char
                self._at += 1
        if self._at < len(text) and text[self._at] == "&" and not text.startswith("&&", self._at):
            raise _Rejected("& starts something in the background")
        if self._at < len(text) and text[self._at] in "<>" and word.isdigit():
            raise _Rejected("it redirects a numbered stream")
        if not pattern:
            return word
        option = re.match(r"--[a-z][a-z-]*=", word)
        if option and not quoted:  # it could only expand to a file whose name begins like the option
            return word
        if quoted or word.startswith(("-", "=")):
            raise _Rejected("a file name pattern is partly quoted")
        self._note(f"{next(char for char in word if char in '*?')} expands to file names that cannot be known in advance")
        return GlobPattern(word)

    def _quoted(self, quote: str) -> str:
        """Return the text in the quotes that begin here, if no shell would change it."""
        inner = ""
        self._at += 1
        while self._at < len(self.text) and (char := self.text[self._at]) != quote:
            if quote == '"' and char in "$`!":
                raise _Rejected(f"a shell would expand {char}")
            if quote == '"' and char == "\\":
                after = self.text[self._at + 1 : self._at + 2]
                if after in ("", "\n", "!"):
                    raise _Rejected(SPECIAL_CHARACTERS["\\"])
                self._note("a shell would expand \\")
                char = after if after in '"\\$`' else char + after
                self._at += 1
            if not all(each.isprintable() for each in char):
                if char != "\n":
                    raise _Rejected(HIDDEN)
                self._note(HIDDEN)
            inner += char
            self._at += 1
        if self._at >= len(self.text):
            raise _Rejected("a quote is not closed")
        self._at += 1
        return inner

    def _escaped(self) -> str:
        """Return the character after a backslash outside quotes."""
        self._note(SPECIAL_CHARACTERS["\\"])
        after = self.text[self._at + 1 : self._at + 2]
        if not after or not (after.isascii() and after.isprintable()):
            raise _Rejected(SPECIAL_CHARACTERS["\\"])
        self._at += 2
        return after

    def _plain(self, char: str, first: bool, before: str) -> None:
        """Reject a character outside quotes that has a meaning to a shell. `before` is the word so far."""
        if char in PLAIN:
            if char == "~" and (first or before.endswith((":", "="))):
                after = self.text[self._at + 1 : self._at + 2]
                if not first or after not in ("", "/", " ", "\n", ";", "|"):
                    raise _Rejected("~ expands to a home folder")
                self._note("~ expands to a home folder")
            if char == "=" and first:
                raise _Rejected("= may expand to the path of a program")
            return
        if char in "*?" or (char in "[]" and self._alone(first)) or (char == "#" and not first):
            if char not in "*?":
                self._note(SPECIAL_CHARACTERS[char])
            return
        if char.isascii():
            reason = SPECIAL_CHARACTERS.get(
                char, f"{char!r} has a special meaning to a shell" if char.isprintable() else HIDDEN
            )
            raise _Rejected(reason)
        if unicodedata.category(char)[0] != "L" or unicodedata.normalize("NFKC", char) != char:
            raise _Rejected(f"U+{ord(char):04X} is not a plain letter")

    def _alone(self, first: bool) -> bool:
        """Return whether the character here is a word of its own, such as the brackets of `[ -f x ]`."""
        return first and self.text[self._at + 1 : self._at + 2] in ("", " ", "\t", "\n", ";", "|", "&")

    def _redirection(self, found: re.Match[str]) -> None:
        number, operator = found.groups()
        self._note(f"it redirects {'output with >' if '>' in operator else 'input with <'}")
        self._at = found.end()
        if operator in ("<<", "<<-"):
            if number not in ("", "0") or not (named := DELIMITER.match(self.text, self._at)):
                raise _Rejected("it has a here-document that is not understood")
            self._delimiters.append((named[2], bool(named[1]), operator == "<<-"))
            self._at = named.end()
            return
        if operator == ">&":
            if self.text[self._at : self._at + 1] not in ("1", "2") or number not in ("", "1", "2"):
                raise _Rejected("it redirects a numbered stream")
            self._at += 1
            if self._at < len(self.text) and self.text[self._at] not in " \t\n;|&":
                raise _Rejected("it redirects a numbered stream")
            return
        if operator not in (">", ">>", "<") or number not in (("", "0") if operator == "<" else ("", "1", "2")):
            raise _Rejected("it redirects in a way that is not understood")
        while self.text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1
        target = self._word()
        if not target or isinstance(target, GlobPattern) or target.startswith("~"):
            raise _Rejected("it redirects to a file that is not known")
        if target in DEVICES and operator != "<":
            return
        if target.startswith(("/dev", "/proc")) and target != "/dev/null":
            raise _Rejected("it redirects to a device")
        (self.inputs if operator == "<" else self.outputs).append(target)

    def _here_documents(self) -> None:
        """Read the here-documents that were announced on the line that ends here."""
        for word, quoted, tabs in self._delimiters:
            body: list[str] = []
            while True:
                if self._at >= len(self.text):
                    raise _Rejected("a here-document is not closed")
                line, newline, _ = self.text[self._at :].partition("\n")
                self._at += len(line) + len(newline)
                line = line.lstrip("\t") if tabs else line
                if line == word:
                    break
                body.append(line)
            text = "\n".join(body)
            if not quoted and (set(text) & set("$`\\")):
                raise _Rejected("a shell would expand the here-document")
            if not all(char.isprintable() or char in "\n\t" for char in text):
                raise _Rejected(HIDDEN)
            self.here_documents.append(text)
        self._delimiters.clear()

    def unwrap(self, words: tuple[str, ...], depth: int, wrapped: bool = False) -> list[tuple[str, ...]]:
        """Return the commands that `words` really run, looking through wrappers and inner shells.

        `wrapped` means that a program runs them, which knows no assignments and no builtins.
        """
        if depth > MAX_DEPTH:
            raise _Rejected("it nests shells too deeply")
        while words and not wrapped and ASSIGNMENT.match(words[0]):
            self._note("it sets an environment variable for the command")
            self._assign(words[0])
            words = words[1:]
        if not words:
            return []
        name = words[0]
        program = program_name(name)
        if name in SHELL_WORDS and not wrapped and self._builtin(words):
            self._note(f"{program} is part of the shell")
            return [words]
        if ASSIGNMENT.match(name):
            raise _Rejected("it sets an environment variable for the command")
        if isinstance(name, GlobPattern) or not NAME.fullmatch(name) or name.startswith("-"):
            raise _Rejected(f"{name!r} is not a plain command name")
        if program in SHELL_WORDS:
            raise _Rejected(f"{program} is part of the shell")
        if program in program_sets().wrappers:
            raise _Rejected(f"{program} runs another command in a way of its own")
        if program in program_sets().shells:
            if len(words) != 3 or words[1] != "-c" or isinstance(words[2], GlobPattern):
                raise _Rejected(f"{program} runs a script")
            inner = _Reader(words[2])
            parts = [part for each in inner.commands() for part in inner.unwrap(each, depth + 1)]
            if inner.special:
                self._note(inner.special)
            self.inputs += inner.inputs
            self.outputs += inner.outputs
            self.assignments += inner.assignments
            self.here_documents += inner.here_documents
            return parts
        if program not in UNWRAPPED:
            return [words]
        rest = _behind(program, words)
        if not rest:
            raise _Rejected(f"{program} is used in a way that is not understood")
        return self.unwrap(rest, depth + 1, wrapped=True)

    def _assign(self, word: str) -> None:
        found = PLAIN_ASSIGNMENT.fullmatch(word)
        if isinstance(word, GlobPattern) or not found:
            raise _Rejected("it sets a variable in a way that is not understood")
        if found[1] in SHELL_VARIABLES or found[1].startswith(("LD_", "DYLD_", "BASH_")):
            raise _Rejected(f"it changes {found[1]}")
        self.assignments.append(word)

    def _builtin(self, words: tuple[str, ...]) -> bool:
        """Return whether this is a builtin of the shell whose effect on the rest of the line is understood."""
        name, rest = words[0], words[1:]
        plain = not any(isinstance(word, GlobPattern) for word in rest)
        match name:
            case "cd":
                return plain and len(rest) == 1 and not rest[0].startswith(("-", "+", "~")) and rest[0] != ""
            case "[":
                return len(rest) > 1 and rest[-1] == "]"
            case "export" if rest and plain and all(PLAIN_ASSIGNMENT.fullmatch(word) for word in rest):
                for word in rest:
                    self._assign(word)
                return True
            case "." | "source":
                return plain and len(rest) == 1 and not rest[0].startswith("-")
            case "command":
                return len(rest) == 2 and rest[0] in ("-v", "-V") and plain
            case "type":
                return plain and bool(rest)
            case ":" | "wait":
                return not rest
            case "exit":
                return not rest or (len(rest) == 1 and rest[0].isdigit())
            case "set":
                return all(re.fullmatch(r"-[eux]+|-e?u?x?o|pipefail", word) for word in rest) and bool(rest)
            case _:
                return False


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
UNWRAPPED = frozenset({"timeout", "nice", "nohup", "env", "time"})


def _behind(program: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that a wrapper runs, or an empty tuple if the wrapper has unknown options."""
    match program, words[1:]:
        case "timeout", [duration, *rest] if DURATION.fullmatch(duration):
            return tuple(rest)
        case "nice", ["-n", level, *rest] if re.fullmatch(r"-?\d{1,2}", level):
            return tuple(rest)
        case (("nice" | "nohup" | "time"), rest) if rest and not rest[0].startswith("-"):
            return tuple(rest)
        case "env", rest if rest and not rest[0].startswith("-") and "=" not in rest[0]:
            return tuple(rest)
        case _:
            return ()


def program_name(name: str) -> str:
    """Return the name of a program: `/usr/bin/git` and `git.exe` are git, `python3.12` is python, sqlite3 is itself."""
    program = re.split(r"[/\\]", name)[-1].casefold().removesuffix(".exe")
    bare = re.sub(r"(?<=[a-z+])-?\d+(\.\d+)*$", "", program)
    return bare if bare in program_sets().versioned else program


def split_loosely(text: str) -> list[list[str]]:
    """Split any text at shell operators into lists of words, ignoring quotes and escapes. *Deny* rules match these."""
    bare = re.sub(r"\$\{?IFS\}?|\\\r?\n", " ", text)
    bare = re.sub(r"['\"\\]", "", unicodedata.normalize("NFKC", bare))
    pieces = re.split(r"[;&|\n(){}`<>]|\$\(", bare)
    return [words for piece in pieces if (words := piece.split())]
