"""A strict parser for shell command lines.

It accepts only text that every shell understands alike, and rejects anything else with a reason. `parse_line` accepts
plain words, quotes around plain text and operators, which permission rules can cover. `read_line` also understands
redirections, here-documents, file name patterns, assignments and a few builtins.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache

from core.domain.command_tables import program_sets, words_of
from core.domain.shell_words import ANY_NAMES, GlobPattern, Rejected, ShellLine, split_line

MAX_COMMANDS = 20
MAX_DEPTH = 3

NAME = re.compile(r"[A-Za-z0-9_.+-]+(/[A-Za-z0-9_.+-]+)*|/[A-Za-z0-9_.+/-]+|\./[A-Za-z0-9_.+/-]+")
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[.*\])?\+?=")
PLAIN_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=((?!/)(?!.*\.\.)[A-Za-z0-9_.,:/@%+*=-]*)")
ACTIVATE = re.compile(r"(\./)?\.?v?env/bin/activate")
DURATION = re.compile(r"\d{1,6}(\.\d+)?[smhd]?")
SET_OPTION = re.compile(r"-[eux]+|-e?u?x?o|pipefail")


SHELL_WORDS = words_of(
    "if then else elif fi for while until do done case esac select function in { } [[ ]] ! : . source eval exec"
    " command builtin alias unalias export set unset shift trap cd pushd popd dirs read readonly declare typeset local"
    " let getopts hash enable shopt ulimit umask wait jobs fg bg disown return exit break continue coproc mapfile"
    " readarray caller complete compgen history fc bind logout suspend times [ type integer float foreach repeat end"
    " noglob nocorrect autoload zmodload emulate setopt unsetopt whence where vared limit unlimit print pushln rehash"
    " sched ttyctl unhash zcompile zle zparseopts zstyle zsocket ztcp"
)


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """A command line that permission rules can cover: the words of each command that it runs.

    `single` means one command without a wrapper such as `timeout` and without redirections such as `2>&1`, which can be
    executed without a shell.
    """

    parts: tuple[tuple[str, ...], ...]
    single: bool


@dataclass(frozen=True, slots=True)
class ReadLine:
    """A command line whose commands, files and assignments are all known.

    Attributes:
        parts: the words of each command; a word that the shell expands to file names is a `GlobPattern`.
        inputs, outputs: the files after `<`, and after `>` or `>>`.
        assignments: the environment variables that the line sets, as `NAME=value`.
        embeds_text: whether the line has here-documents or arguments of several lines.
        enters_folder: whether the line begins with `cd x &&`, so that everything else runs only in that folder.
        special: why no permission rule can cover the line; "" if one can.
        single: as in ParsedLine.
    """

    parts: tuple[tuple[str, ...], ...]
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    assignments: tuple[str, ...] = ()
    embeds_text: bool = False
    enters_folder: bool = False
    special: str = ""
    single: bool = False


@dataclass(frozen=True, slots=True)
class UnclearLine:
    """A command line that is not fully understood. `reason` is a clause such as "it runs a script"."""

    reason: str


@lru_cache(maxsize=1024)
def parse_line(text: str) -> ParsedLine | UnclearLine:
    """Return the commands that a line runs, also behind wrappers such as `timeout`, or why no rule can cover it."""
    line = read_line(text)
    if isinstance(line, UnclearLine):
        return line
    return UnclearLine(line.special) if line.special else ParsedLine(line.parts, line.single)


@lru_cache(maxsize=1024)
def read_line(text: str) -> ReadLine | UnclearLine:
    """Return all commands, files and assignments of a command line, or why it cannot be fully understood."""
    try:
        line = split_line(text)
        unwrapper = _Unwrapper(line)
        parts = tuple(part for words in line.commands for part in unwrapper.unwrap(words, 0))
    except Rejected as rejection:
        return UnclearLine(str(rejection))
    if len(parts) > MAX_COMMANDS:
        return UnclearLine(f"it has more than {MAX_COMMANDS} parts")
    return ReadLine(
        parts,
        inputs=tuple(line.inputs),
        outputs=tuple(line.outputs),
        assignments=tuple(unwrapper.assignments),
        embeds_text=line.embeds_text,
        enters_folder=_enters_folder(parts, line.operators),
        special=line.special,
        single=len(line.commands) == 1 and parts == (line.commands[0],) and not line.redirects,
    )


def _enters_folder(parts: tuple[tuple[str, ...], ...], operators: list[str]) -> bool:
    cd_indexes = [index for index, part in enumerate(parts) if part[0] == "cd"]
    return cd_indexes == [0] and operators[:1] == ["&&"] and not {"||", ";", "\n"}.intersection(operators)


@dataclass(slots=True)
class _Unwrapper:
    """Finds the commands that a line runs through wrappers such as `timeout` and inner shells such as `sh -c`."""

    line: ShellLine
    assignments: list[str] = field(default_factory=list)

    def unwrap(self, words: tuple[str, ...], depth: int, wrapped: bool = False) -> list[tuple[str, ...]]:
        """Return the commands that `words` run, as lists of words; raise Rejected if that is unclear.

        `wrapped`: a program runs the words, not a shell, so assignments and builtins do not apply. `depth` is the
        number of wrappers and shells around them.
        """
        if depth > MAX_DEPTH:
            raise Rejected("it nests shells too deeply")
        while words and not wrapped and ASSIGNMENT.match(words[0]):
            self.line.note(ASSIGNS)
            self._assign(words[0])
            words = words[1:]
        if not words:
            return []
        name = words[0]
        program = program_name(name)
        if name in SHELL_WORDS and not wrapped and self._builtin(words):
            self.line.note(f"{program} is part of the shell")
            return [words]
        if ASSIGNMENT.match(name):
            raise Rejected(ASSIGNS)
        if isinstance(name, GlobPattern) or not NAME.fullmatch(name) or name.startswith("-"):
            raise Rejected(f"{name!r} is not a plain command name")
        if program in SHELL_WORDS:
            raise Rejected(f"{program} is part of the shell")
        if program == "xargs":
            return self.unwrap(self._command_of_xargs(words), depth + 1, wrapped=True)
        if program in program_sets().wrappers:
            raise Rejected(f"{program} runs another command in a way of its own")
        if program in program_sets().shells:
            if len(words) != 3 or words[1] != "-c" or isinstance(words[2], GlobPattern):
                raise Rejected(f"{program} runs a script")
            inner = split_line(words[2])
            parts = [part for inner_words in inner.commands for part in self.unwrap(inner_words, depth + 1)]
            self.line.include(inner)
            return parts
        if program not in UNWRAPPED or words == ("env",):
            return [words]
        command = _wrapped_command(program, words)
        if not command:
            raise Rejected(f"{program} is used in a way that is not understood")
        return self.unwrap(command, depth + 1, wrapped=True)

    def _command_of_xargs(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command that xargs runs, with `ANY_NAMES` in place of the names from its input."""
        self.line.note("xargs passes on names that cannot be known in advance")
        rest = list(words[1:])
        while rest and rest[0].startswith("-"):
            option = rest.pop(0)
            if option in XARGS_COUNTS and rest and rest[0].isdigit():
                rest.pop(0)
            elif option not in XARGS_FLAGS:
                raise Rejected("xargs is used in a way that is not understood")
        return (*(rest or ["echo"]), ANY_NAMES)

    def _assign(self, word: str) -> None:
        match = PLAIN_ASSIGNMENT.fullmatch(word)
        if isinstance(word, GlobPattern) or not match or match[1] not in program_sets().harmless_variables:
            raise Rejected(ASSIGNS)
        self.assignments.append(word)

    def _builtin(self, words: tuple[str, ...]) -> bool:
        """Return whether the effect of a shell builtin on the rest of the line is known; record assignments."""
        name, *arguments = words
        plain = not any(isinstance(word, GlobPattern) for word in arguments)
        match name:
            case "cd":
                is_folder = len(arguments) == 1 and arguments[0] != "" and not arguments[0].startswith(("-", "+", "~"))
                return plain and is_folder
            case "[":
                return len(arguments) > 1 and arguments[-1] == "]"
            case "export" if arguments and plain and all(PLAIN_ASSIGNMENT.fullmatch(word) for word in arguments):
                for word in arguments:
                    self._assign(word)
                return True
            case "." | "source":
                return plain and len(arguments) == 1 and ACTIVATE.fullmatch(arguments[0]) is not None
            case "command":
                return len(arguments) == 2 and arguments[0] in ("-v", "-V") and plain
            case "type":
                return plain and bool(arguments)
            case ":" | "wait":
                return not arguments
            case "exit":
                return not arguments or (len(arguments) == 1 and arguments[0].isdigit())
            case "set":
                return bool(arguments) and all(SET_OPTION.fullmatch(word) for word in arguments)
            case _:
                return False


XARGS_FLAGS = frozenset({"-0", "--null", "-r", "--no-run-if-empty", "-x"})
XARGS_COUNTS = frozenset({"-n", "-P", "-L"})
ASSIGNS = "it sets an environment variable for the command"
UNWRAPPED = frozenset({"timeout", "nice", "nohup", "env", "time"})


def _wrapped_command(program: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that a wrapper such as `timeout` runs; an empty tuple if the wrapper has unknown options."""
    match program, words[1:]:
        case "timeout", [duration, *command] if DURATION.fullmatch(duration):
            return tuple(command)
        case "nice", ["-n", level, *command] if re.fullmatch(r"-?\d{1,2}", level):
            return tuple(command)
        case (("nice" | "nohup" | "time"), command) if command and not command[0].startswith("-"):
            return tuple(command)
        case "env", command if command and not command[0].startswith("-") and "=" not in command[0]:
            return tuple(command)
        case _:
            return ()


def program_name(name: str) -> str:
    """Return the name of a program without folder, `.exe` and version number.

    `python3.12` becomes `python`, but `sqlite3` stays, because only the programs in the table have versions.
    """
    program = re.split(r"[/\\]", name)[-1].casefold().removesuffix(".exe")
    unversioned = re.sub(r"(?<=[a-z+])-?\d+(\.\d+)*$", "", program)
    return unversioned if unversioned in program_sets().versioned else program


def split_loosely(text: str) -> list[list[str]]:
    """Split any text at shell operators into lists of words, ignoring quotes and escapes; *deny* rules check these."""
    unquoted = re.sub(r"\$\{?IFS\}?|\\\r?\n", " ", text)
    unquoted = re.sub(r"['\"\\]", "", unicodedata.normalize("NFKC", unquoted))
    segments = re.split(r"[;&|\n(){}`<>]|\$\(", unquoted)
    return [words for segment in segments if (words := segment.split())]
