"""Finds the files that a command line may run as scripts, by the words of the command line."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from core.domain.command_line import ASSIGNMENT, program_name, split_loosely
from core.domain.command_tables import words_of

INTERPRETERS = frozenset({"python", "pypy", "node", "nodejs", "deno", "bun", "perl", "ruby", "php", "lua"})
PROGRAMS = rf"(?:\w*sh|{'|'.join(sorted(INTERPRETERS))})[\d.]*"
# Programs that run files of a language which no argument names, such as imported modules and tests.
RUNNERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(words_of("python pypy ipython pytest py.test tox nox coverage uv poetry pdm hatch"), (".py",)),
        **dict.fromkeys(
            words_of("node nodejs deno bun npm npx pnpm yarn jest mocha vitest tsx ts-node"),
            (".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx"),
        ),
        **dict.fromkeys(words_of("ruby rake rspec bundle"), (".rb",)),
        **dict.fromkeys(words_of("perl prove"), (".pl", ".pm", ".t")),
        **dict.fromkeys(words_of("php phpunit"), (".php",)),
        "lua": (".lua",),
    }
)
COPIES = words_of("cp mv ln install rsync dd tee")
# Programs that write decoded or otherwise computed text to a file that an argument names.
DECODERS = words_of(
    "base64 base32 basenc xxd openssl gpg uudecode gunzip gzip bunzip2 bzip2 unxz xz zstd brotli lz4 tee"
)
# Programs that write files whose names and contents only an archive or a patch contains.
UNPACKERS = words_of(
    "unzip unrar unar 7z 7za 7zr bsdtar cpio pax ar jar cabextract unsquashfs dpkg dpkg-deb patch tar gtar git python"
)
# What one of the words after these programs must match for that; any words do for the others.
_UNPACKS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        **dict.fromkeys(
            words_of("tar gtar bsdtar"), re.compile(r"-[a-zA-Z]*x[a-zA-Z]*|[fjJkmopUvz]*x[fjJkmopUvz]*|--(ex|ge).*")
        ),
        "git": re.compile("apply|am|clone"),
        "python": re.compile("zipfile|tarfile"),
    }
)
_UNPACKING_CODE = re.compile(r"extractall|unpack_archive")
# Programs that run the file which is the value of one of their options, as in `make -f x`.
FILE_OPTION_PROGRAMS = words_of("make gmake just task awk gawk mawk sed ed vi vim nvim gdb psql")
CODE_OPTIONS = frozenset({"-c", "-e", "--eval"})
MODULE_ENDS = (".py", "/__main__.py", "/__init__.py")  # the files of a Python module
MAX_FILES = 50  # paths returned for one command line, because callers read each file
_LITERAL = re.compile(r"\s*(?:echo|printf)\s(?:[^\\$`]|\\[nt\"'])*")  # prints only what the command line contains
# Code that an interpreter runs from an argument, as in `python -c "open('a.sh', 'w')"`.
_CODE = re.compile(
    rf"(?:{'|'.join(sorted(INTERPRETERS))})[\d.]{{0,8}}[ \t]+(?:-\w+[ \t]+){{0,3}}-{{1,2}}(?:c|e|eval)[ \t]+"
    r"([\"'])(.{0,5000}?)\1",
    re.DOTALL,
)
_RUNS_FILE = re.compile(rf"\.|source|{PROGRAMS}")


def script_paths(command: str) -> tuple[str, ...]:
    """Return the paths that a command line may run: arguments of shells and interpreters, and all words with a `/`.

    Paths are relative to the folder, and combined with each folder entered by `cd`. They may not exist.
    """
    return tuple(dict.fromkeys(_paths(command)))[:MAX_FILES]


def marked_scripts(command: str, content_mark: Callable[[str], str]) -> list[str]:
    """Return `MARK PATH` for each existing file that a command line may run, with the digest from `content_mark`."""
    marks = ((path, content_mark(path)) for path in script_paths(command))
    return [f"{mark} {path}" for path, mark in marks if mark]


def imported_suffixes(command: str) -> tuple[str, ...]:
    """Return the suffixes of files that the programs of a command line may run although no argument names them."""
    names = {program_name(word) for words in split_loosely(command) for word in words}
    return tuple(dict.fromkeys(suffix for name in sorted(names & RUNNERS.keys()) for suffix in RUNNERS[name]))


def runs_own_output(command: str) -> bool:
    """Return whether a command line runs a file that it creates, with contents that the line itself does not show."""
    commands = split_loosely(command)
    run = _run_names(commands)
    if not run or "<<" in command:
        return False
    for segment in re.split(r"[;&|\n<]", command.replace(">|", ">")):
        source, *targets = re.split(r">+", segment)
        written = {posixpath.basename(words[0].strip("\"'")) for target in targets if (words := target.split())}
        if not run.isdisjoint(written) and not _LITERAL.fullmatch(source):
            return True
    if any(map(_unpacks, commands)) and not run <= UNPACKERS:
        return True
    named_in_code = {name for _, code in _CODE.findall(command) for name in re.split(r"[^\w.-]+", code)}
    if not run.isdisjoint(named_in_code) or _UNPACKING_CODE.search(command):
        return True
    decoding = (words for words in commands if program_name(words[0]) in DECODERS)
    return any(not run.isdisjoint(map(posixpath.basename, words)) for words in decoding)


def _unpacks(words: Sequence[str]) -> bool:
    """Return whether a command, or one that it wraps as in `sudo tar xf a`, unpacks an archive or applies a patch."""
    for index, word in enumerate(words):
        if (program := program_name(word)) in UNPACKERS:
            needed = _UNPACKS.get(program)
            if needed is None or any(map(needed.fullmatch, words[index + 1 :])):
                return True
    return False


def _run_names(commands: Sequence[Sequence[str]]) -> set[str]:
    """Return the names of the files that these commands run: as a path, or by a shell or an interpreter."""
    names = {posixpath.basename(word) for words in commands for word in words[:1] if "/" in word}
    for words in commands:
        for index, word in enumerate(words):
            if _runs_file(word):
                names |= {posixpath.basename(each) for each in _possible_scripts(words[index:])}
    return names


def _possible_scripts(words: Sequence[str]) -> Iterator[str]:
    """Yield the first argument of an interpreter, which may be its script, and the possible values of its options."""
    for before, word in pairwise(words):
        if before in CODE_OPTIONS:
            return
        if not word.startswith("-"):
            yield word
            if not before.startswith("-"):
                return


def _paths(command: str) -> Iterator[str]:
    folders = [""]
    commands = split_loosely(command)
    has_interpreter = any(_runs_file(words[0]) for words in commands)
    run = _run_names(commands)
    for words in commands:
        if words[0] == "cd" and len(words) > 1:
            folders.append(posixpath.join(folders[-1], words[1]))
        if words[0] in COPIES and not run.isdisjoint(map(posixpath.basename, words)):
            yield from words[1:]  # the line runs what it copies
        is_input = has_interpreter  # The first word may be a script, as `sh < script` was split at `<`.
        is_argument = False
        for before, word in zip(("", *words), words, strict=False):
            if assignment := ASSIGNMENT.match(word):  # such as BASH_ENV=script
                yield posixpath.normpath(word[assignment.end() :])
            if before == "-m" and is_argument:
                module = word.replace(".", "/")
                yield from (posixpath.join(folder, f"{module}{end}") for folder in folders for end in MODULE_ENDS)
            is_option_value = before.startswith("-") and program_name(words[0]) in FILE_OPTION_PROGRAMS
            if is_input or "/" in word or ((is_argument or is_option_value) and not word.startswith("-")):
                yield from (posixpath.normpath(posixpath.join(folder, word)) for folder in folders)
            is_input = False
            # A shell may also begin a value, as in `PAGER='sh x'` and `git -c alias.x='!sh x'`.
            is_argument = is_argument or _runs_file(re.split(r"[=!]", word)[-1])


def _runs_file(word: str) -> bool:
    """Return whether a word names a shell or an interpreter, which runs a script from its arguments or input."""
    return bool(_RUNS_FILE.fullmatch(program_name(word)))
