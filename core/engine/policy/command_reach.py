"""Determines which folders a command line works in, and which secret files it may print or pass on."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch, fnmatchcase
from glob import has_magic
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from core.domain.command_arguments import Recognized, is_option, is_plain
from core.domain.command_line import ReadLine, program_name, read_line, split_loosely
from core.domain.folder_reading import (
    is_reading_client,
    names_folder_of_git,
    only_reads_folder,
    words_without_pattern,
)
from core.domain.irreversible_commands import FIND_ACTIONS, irreversible_reason, possibly_irreversible_reason
from core.domain.known_commands import entry_only_reads, only_reads, recognize
from core.domain.sensitive_paths import is_git, is_hidden_from_commands, is_secret, shows_secrets
from core.domain.shell_words import ANY_NAMES, GlobPattern
from core.engine.policy.folder_inspection import MAX_MATCHES

DATA_BUILTINS = frozenset({"cd", "[", "export", ":", "exit", "set", "command", "type", "wait"})
# Known programs that change files, but never execute text from their arguments or input.
DATA_PROGRAMS = frozenset({"git", "mkdir", "touch", "tee"})
NOTHING = "/dev/null"
SHOW_NOTHING = frozenset({"rm", "rmdir", "chmod"})
KEEP_NAMES = frozenset({"cp", "mv"})  # copy a folder with its file names, so its secrets stay recognizable as such
RECURSES = re.compile(r"-[A-Za-z]*[rR][A-Za-z]*|--recursive(=.*)?")
FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
READING_BUILTINS = frozenset({"cd", "command", "type"})
UNCLEAR_IN_GLOBS = frozenset("?[\\/")  # characters that grep interprets differently than `fnmatch`
# The options that make a recursive program follow symbolic links. A program not listed is assumed to follow them.
_GREP_FOLLOWS = ("-R", "--dereference-recursive")
FOLLOWING: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"git": (), "rg": ("-L", "--follow"), **dict.fromkeys(("grep", "egrep", "fgrep"), _GREP_FOLLOWS)}
)
Links = Callable[[], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class CommandReach:
    """The folders and files that a parsed command line may access.

    Attributes:
        folders: the folders, relative to the workspace, in which its commands may run after `cd`. None if one of
            them is outside the workspace or in .git, or if input or output is redirected outside the workspace.
        expand: returns the files in the workspace that match a pattern.
        resolve: returns a path relative to the workspace, with its links resolved.
    """

    line: ReadLine
    folders: tuple[str, ...] | None
    expand: Callable[[str], Sequence[str]]
    resolve: Callable[[str], str]

    @property
    def is_understood(self) -> bool:
        """Whether the words of the line show everything that it does: no syntax hides a command or its arguments."""
        line = self.line
        if not line.special:
            return True
        if self.folders is None or not all(map(_finds_by_reading, line.parts)):
            return False
        if any(ANY_NAMES in part and not only_reads(part) for part in line.parts):
            return False
        hides_code = line.embeds_text or (bool(line.outputs) and len(line.parts) > 1)
        return not hides_code or only_handles_text(line)

    def paths(self) -> Iterator[str]:
        """Yield every word of the line as a path in each of `folders`, with patterns replaced by matching files."""
        yield from self._paths(word for part in self.line.parts for word in part)

    def _paths(self, words: Iterable[str]) -> Iterator[str]:
        for word in (*words, *self.line.inputs, *self.line.outputs):
            for folder in self.folders or ("",):
                path = posixpath.join(folder, word)
                yield from self.expand(path) if isinstance(word, GlobPattern) else (path,)

    def only_reads_folder(
        self,
        secret_files: Callable[[], Sequence[str]],
        locate: Callable[[str], str],
        *,
        masked: bool,
        enforced: bool,
        offline: bool,
        plain_git: Callable[[], bool],
        outside_links: Callable[[], Sequence[str]],
        links: Links = dict,
    ) -> bool:
        """Return whether the line only reads files in the workspace that are not secret.

        Such a line needs no approval, just like the tools for reading and searching.

        Args:
            secret_files: returns the secret files in the workspace.
            locate: returns a path with its links resolved, relative to the workspace; it begins with `..` if outside.
            masked: whether the sandbox hides the contents of some secret files.
            enforced: whether the sandbox prevents everything but reading.
            offline: whether the line has no network access, and would have none after an approval either.
            plain_git: returns whether no configuration in the workspace makes git run programs.
            outside_links: returns the links that lead out of the workspace.
            links: returns the other links in the workspace, each with its target.
        """
        line = self.line
        if self.folders is None or line.outputs or line.assignments:
            return False

        def hides_secrets() -> bool:
            return all(masked and is_hidden_from_commands(path) for path in secret_files())

        for part in line.parts:
            if part[0] == "git" and not (enforced or plain_git()):
                return False
            if not self._only_reads(part, hides_secrets, enforced=enforced, offline=offline):
                return False
            find = _split_find(part)
            if find.inner and any(_finds(find.outer, link) for link in outside_links()):
                return False
        if not self._matches_are_plain():
            return False
        named = (word for part in line.parts for word in words_without_pattern(part))
        paths = [locate(path) for path in self._paths(named)]
        if any(path.startswith(("../", "/")) or path == ".." or is_secret(path) for path in paths if path != NOTHING):
            return False
        return not self.shown_secrets(secret_files, masked=masked, shows=is_secret, links=links)

    def _only_reads(
        self, part: Sequence[str], hides_secrets: Callable[[], bool], *, enforced: bool, offline: bool
    ) -> bool:
        """Return whether a command only reads files in the workspace, going by its words.

        `hides_secrets` returns whether the sandbox hides every secret file. The rest is as for `only_reads_folder`.
        """
        find = _split_find(part)
        needs_containment = ANY_NAMES in part
        if part[0] == "git":
            # Another folder may be in another repository, whose configuration may make git run programs.
            needs_containment = needs_containment or self.folders != ("",) or names_folder_of_git(part)
        for words in (find.outer, find.inner) if find.inner else (find.outer,):
            if isinstance(words[0], GlobPattern):
                return False
            if words[0] not in READING_BUILTINS and not only_reads_folder(words, enforced=enforced):
                if not (offline and is_reading_client(words)):
                    return False
                needs_containment = True
        if find.inner and not (_shows_named(find.inner) and hides_secrets()):
            return False
        return not needs_containment or (enforced and hides_secrets())

    def _matches_are_plain(self) -> bool:
        """Return whether no file name matched by a pattern could be taken for an option, such as `-rf`."""
        patterns = [word for part in self.line.parts for word in part if isinstance(word, GlobPattern)]
        for pattern in patterns:
            if pattern is ANY_NAMES:
                continue
            for folder in self.folders or ("",):
                matching = self.expand(posixpath.join(folder, pattern))
                if "**" in pattern or len(matching) >= MAX_MATCHES:
                    return False
                if not all(is_plain(posixpath.relpath(path, folder or ".")) for path in matching):
                    return False
        return True

    def shown_secrets(
        self,
        secret_files: Callable[[], Sequence[str]],
        *,
        masked: bool,
        shows: Callable[[str], bool] = shows_secrets,
        links: Links = dict,
    ) -> tuple[str, ...]:
        """Return the secret files whose contents a command of the line may show.

        `secret_files` returns all in the workspace. `shows` selects those that count when a whole folder is read.
        `masked` means that the sandbox hides the contents of some. `links` returns the links within the workspace,
        each with its target.
        """
        secrets: dict[str, None] = {}
        inputs = (posixpath.join(folder, name) for folder in self.folders or ("",) for name in self.line.inputs)
        secrets |= dict.fromkeys(real for real in map(self.resolve, inputs) if is_secret(real))
        if any(map(_shows_found, self.line.parts)):
            secrets |= dict.fromkeys(path for path in secret_files() if shows(path))
        for part in self.line.parts:
            recognized = recognize(part)
            for folder in self.folders or ("",):
                if recognized:
                    secrets |= dict.fromkeys(self._shown(recognized, folder, secret_files, shows, links))
                if not recognized or not recognized.complete:
                    secrets |= dict.fromkeys(self._possibly_shown(part, folder, secret_files, shows, links))
        return tuple(path for path in secrets if not (masked and is_hidden_from_commands(path)))

    def _shown(
        self,
        recognized: Recognized,
        folder: str,
        secret_files: Callable[[], Sequence[str]],
        shows: Callable[[str], bool],
        links: Links,
    ) -> Iterator[str]:
        if recognized.command.contents == "none":
            return
        recursive = recognized.command.contents == "tree" or _recurses(recognized)
        roots: list[str] = []
        if recursive and (_searches_all(recognized) or not recognized.complete):
            roots = [folder, self.resolve(folder)] if folder else ["."]  # `folder` may be a link that `cd` followed
        for word in recognized.operands:
            path = posixpath.normpath(posixpath.join(folder, word))
            paths = self.expand(path) if isinstance(word, GlobPattern) else (path,)
            roots += [*paths, *map(self.resolve, paths)]
            yield from (real for candidate in paths if is_secret(real := self.resolve(candidate)))
            if word is ANY_NAMES:
                yield from secret_files()
        secrets = secret_files() if recursive else ()
        reached = _with_linked(roots, links) if secrets and _follows(recognized) else roots
        for path in secrets:
            above = [root for root in reached if _contains(root, path)]
            # A path reached only through a link may be included by the name of the link, so exclusion is uncertain.
            if shows(path) and not all(
                (root != path or root in roots) and _is_left_out(recognized, root, path) for root in above
            ):
                yield path

    def _possibly_shown(
        self,
        part: Sequence[str],
        folder: str,
        secret_files: Callable[[], Sequence[str]],
        shows: Callable[[str], bool],
        links: Links,
    ) -> Iterator[str]:
        """Yield the secret files in the arguments of an unknown command: by name, by pattern, or in a whole folder."""
        if part[0] in DATA_BUILTINS or program_name(part[0]) in SHOW_NOTHING:
            return
        if ANY_NAMES in part:
            yield from filter(shows, secret_files())
        named: list[str] = []
        for word in part[1:]:
            if word is not ANY_NAMES:
                for name in _names_in(word):
                    named += self.expand(posixpath.normpath(posixpath.join(folder, name)))
        yield from (real for path in named for real in {path, self.resolve(path)} if is_secret(real))
        if program_name(part[0]) not in KEEP_NAMES and any(map(RECURSES.fullmatch, part[1:])):
            secrets = secret_files()
            roots = [*named, *map(self.resolve, named)] or [folder or "."]
            reached = _with_linked(roots, links) if secrets else ()
            yield from (path for path in secrets if shows(path) and any(_contains(root, path) for root in reached))

    @property
    def runs_other_code(self) -> bool:
        """Whether the line may execute code from other files or its arguments, which could read any file."""
        return bool(self.line.assignments) or not only_handles_text(self.line)


def read_reach(
    line: ReadLine, workspace: str, expand: Callable[[str], Sequence[str]], resolve: Callable[[str], str]
) -> CommandReach:
    """Return what a fully parsed command line may access when it runs in the workspace."""
    folders = [""]
    for part in line.parts:
        if part[0] == "cd":
            target = posixpath.normpath(posixpath.join(workspace, folders[-1], part[1]))
            if not _is_inside(target, workspace) or any(map(is_git, resolve(target).split("/"))):
                return CommandReach(line, None, expand, resolve)
            folders.append(posixpath.relpath(target, workspace) if target != workspace else "")
    if line.enters_folder:
        folders = folders[1:]
    for folder in folders:
        for name in (*line.inputs, *line.outputs):
            if not _is_inside(posixpath.join(workspace, folder, name), workspace):
                return CommandReach(line, None, expand, resolve)
    return CommandReach(line, tuple(dict.fromkeys(folders)), expand, resolve)


def guess_reach(command: str, expand: Callable[[str], Sequence[str]], resolve: Callable[[str], str]) -> CommandReach:
    """Return what a command line that could not be parsed may access, derived from its words alone."""
    parts = (
        tuple(GlobPattern(word) if has_magic(word) else word for word in words) for words in split_loosely(command)
    )
    return CommandReach(ReadLine(tuple(parts)), ("",), expand, resolve)


def matches_name(path: str, pattern: str) -> bool:
    """Return whether a path matches a glob pattern, as a whole or from any folder in it to the end."""
    return fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}")


def _is_inside(path: str, workspace: str) -> bool:
    clean = posixpath.normpath(path)
    return clean == workspace or clean.startswith(workspace.rstrip("/") + "/")


def only_handles_text(line: ReadLine) -> bool:
    """Return whether no command of the line can execute text from its arguments or here-documents as code."""
    for part in line.parts:
        recognized = recognize(part)
        if not (recognized and recognized.complete) and not _is_builtin(part):
            return False
        if recognized and not entry_only_reads(recognized) and recognized.command.words[0] not in DATA_PROGRAMS:
            return False
    return True


def irreversible_line_reason(command: str) -> str:
    """Return why a command line may be irreversible, or "". If it cannot be parsed, each of its words is checked."""
    line = read_line(command)
    if isinstance(line, ReadLine):
        own = bool(line.assignments)
        for part in line.parts:
            if why := irreversible_reason(part, own_environment=own):
                return why
        if not line.special or only_handles_text(line):
            return ""
    return next((why for words in split_loosely(command) if (why := possibly_irreversible_reason(words))), "")


def _finds_by_reading(part: Sequence[str]) -> bool:
    """Return whether the actions of a find command, such as `-exec`, only read. True for any other command."""
    actions = [word for word in part if word in FIND_ACTIONS]
    if program_name(part[0]) != "find" or not actions:
        return True
    return only_reads(_split_find(part).inner or actions)


class _SplitFind(NamedTuple):
    """The two commands of `find … -exec COMMAND ;`, split at `-exec`.

    `inner` is () for any other command, and for find with other or several actions.
    """

    outer: Sequence[str]
    inner: Sequence[str] = ()


def _split_find(part: Sequence[str]) -> _SplitFind:
    actions = [index for index, word in enumerate(part) if word in FIND_ACTIONS]
    if program_name(part[0]) != "find" or len(actions) != 1 or part[-1] not in (";", "+"):
        return _SplitFind(part)
    action = actions[0]
    return _SplitFind(part[:action], part[action + 1 : -1]) if part[action] == "-exec" else _SplitFind(part)


def _finds(part: Sequence[str], link: str) -> bool:
    """Return whether a find command may output the path of this link, or follow it to other files."""
    following = {"-L", "-H", "-follow", "-o", "-or", "!", "-not", ","}.intersection(part)
    names = [word for option, word in pairwise(part) if option == "-name"]
    if following or isinstance(part[-1], GlobPattern):
        return True
    only_files = any(pair == ("-type", "f") for pair in pairwise(part))
    return not only_files and all(fnmatchcase(posixpath.basename(link), name) for name in names)


def _shows_found(part: Sequence[str]) -> bool:
    """Return whether a find command runs a command that may show the contents of the files found."""
    inner = _split_find(part).inner
    if not inner:
        return program_name(part[0]) == "find" and not FIND_RUNS.isdisjoint(part)
    return _shows_named(inner) or (recognize(inner) is None and program_name(inner[0]) not in SHOW_NOTHING)


def _shows_named(words: Sequence[str]) -> bool:
    recognized = recognize(words)
    return recognized is not None and recognized.command.contents == "named"


def _is_builtin(part: Sequence[str]) -> bool:
    return part[0] in DATA_BUILTINS


def _recurses(recognized: Recognized) -> bool:
    """Return whether an option makes the command recursive, also in a group such as `-rn` or abbreviated."""
    names = recognized.command.recurses
    letters = {name[1] for name in names if len(name) == 2}
    for option in recognized.options:
        if option.split("=")[0] in names:
            return True
        is_long = option.startswith("--")
        if not is_long and option.startswith("-") and letters.intersection(option[1:]):
            return True
        if is_long and len(option) > 3 and any(name.startswith(option) for name in names):
            return True
    return False


def _follows(recognized: Recognized) -> bool:
    """Return whether a recursive command may follow symbolic links below the folders that it searches."""
    following = FOLLOWING.get(recognized.command.words[0])
    if following is None or not recognized.complete:
        return True
    return any(is_option(option, word) for word in recognized.options for option in following)


def _searches_all(recognized: Recognized) -> bool:
    """Return whether a recursive command searches the current folder, because it names no path.

    The first operand is the pattern to search for. `git grep` may name a revision in place of a path.
    """
    return len(recognized.operands) < 2 or recognized.command.words[:2] == ("git", "grep")


def _names_in(word: str) -> set[str]:
    """Return the file names that a word may contain, as in `@name`, `--option=name`, `-oname` and `host:name`."""
    attached = [word[2:]] if re.match(r"-[^-]", word) else []
    return {name for name in (word, *attached, *re.split(r"[=:@,]", word)) if name}


def _with_linked(roots: Iterable[str], links: Links) -> list[str]:
    """Return these paths and the targets of all links below them, including links below such a target."""
    reached = dict.fromkeys(roots)
    waiting = list(reached)
    known = links()
    while waiting:
        root = waiting.pop()
        found = {target for link, target in known.items() if _contains(root, link) and target not in reached}
        reached |= dict.fromkeys(found)
        waiting += found
    return list(reached)


def _contains(folder: str, path: str) -> bool:
    return folder in (".", path) or path.startswith(f"{folder}/")


def _is_left_out(recognized: Recognized, root: str, path: str) -> bool:
    """Return whether grep or ripgrep certainly skips this file in a search of `root`, such as by `--exclude`."""
    if not recognized.complete:
        return False
    parts = (posixpath.basename(path) if path == root else posixpath.relpath(path, root)).split("/")
    match recognized.command.words[0]:
        case "grep" | "egrep" | "fgrep":
            return _is_excluded_by_grep(recognized, parts)
        case "rg":
            return _is_excluded_by_ripgrep(recognized, parts)
        case _:
            return False


def _is_excluded_by_grep(recognized: Recognized, parts: Sequence[str]) -> bool:
    included = _values(recognized, "--include")
    excluded = _values(recognized, "--exclude")
    folders = filter(UNCLEAR_IN_GLOBS.isdisjoint, _values(recognized, "--exclude-dir"))
    if any(fnmatchcase(part, pattern) for pattern in folders for part in parts[:-1]):
        return True
    if included and excluded:
        return False  # which of the two wins depends on the order of the options
    if any(UNCLEAR_IN_GLOBS.intersection(pattern) for pattern in (*included, *excluded)):
        return False  # grep would match these patterns differently
    matching = any(fnmatchcase(parts[-1], pattern) for pattern in (*included, *excluded))
    return matching if excluded else bool(included) and not matching


def _is_excluded_by_ripgrep(recognized: Recognized, parts: Sequence[str]) -> bool:
    flags = [word for word in recognized.options if word[:1] == "-" and word[:2] != "--"]
    if any("g" in word[1:] and word != "-g" for word in flags):
        return False  # not parsed: `-gPATTERN`, or -g combined with other letters
    globs = [glob for name in ("-g", "--glob", "--iglob") for glob in _values(recognized, name) if glob[:1] != "!"]
    if globs:  # An explicit pattern also includes hidden files.
        unclear = any(set("/{[\\").intersection(glob) for glob in globs)
        return not unclear and not any(fnmatch(parts[-1].casefold(), glob.casefold()) for glob in globs)
    shows_hidden = {"--hidden", "--unrestricted", "--no-ignore"}.intersection(recognized.options) or any(
        {"u", "."}.intersection(word[1:]) for word in flags
    )
    return not shows_hidden and any(part.startswith(".") for part in parts)


def _values(recognized: Recognized, option: str) -> list[str]:
    """Return all values of an option, both in `--option=VALUE` and in `--option VALUE`."""
    attached = [word.partition("=")[2] for word in recognized.options if word.startswith(f"{option}=")]
    following = [value for word, value in pairwise(recognized.options) if word == option]
    return attached + following
