"""Permission rules. *Allow* rules match narrowly, *ask* and *deny* rules broadly: in doubt, nothing is approved."""

import posixpath
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from core.domain.code_options import unsafe_option_reason
from core.domain.command_line import ParsedLine, UnclearLine, parse_line, program_name, split_loosely
from core.domain.command_tables import program_sets
from core.domain.globs import matches
from core.domain.irreversible_commands import irreversible_reason
from core.domain.known_commands import known_command, rule_covers, without_harmless_globals
from core.domain.permissions import RuleScope
from core.domain.problems import Problem

Effect = Literal["allow", "ask", "deny"]
Subject = Literal["command", "path", "host", "none"]
PRECEDENCE: tuple[Effect, ...] = ("deny", "ask", "allow")
ANY = "*"
MAX_PREFIX_WORDS = 5  # before the `*` of a suggested pattern
HOST_PATTERN = re.compile(r"(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*(:\d{1,5})?|\[[0-9a-f:]+\](:\d{1,5})?")


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """A saved rule that allows or denies tool calls, or requires asking the user.

    Attributes:
        subject: what `pattern` is compared with: the command line, path or host of the call; or "none".
        tool: the name of a tool, or `*` for any.
        pattern: for a command its words, where a final `*` stands for further plain words; else a path glob or a host.
        scope, scope_id: how far the rule reaches; the folder of a *folder* rule, or the run of a *run* rule.
        matches, misses: examples that the rule must and must not match, checked when it is saved or loaded.
        author, created_at, session: who saved the rule, when (in microseconds), and in which session.
    """

    id: str
    effect: Effect
    tool: str
    subject: Subject
    pattern: str = ""
    scope: RuleScope = "always"
    scope_id: str = ""
    matches: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()
    author: str = "user"
    created_at: int = 0
    session: str = ""

    @property
    def description(self) -> str:
        """The rule in one line, such as `allow run: git log *`."""
        return f"{self.effect} {self.tool}" + (f": {self.pattern}" if self.pattern else "")


class _RuleExamples(NamedTuple):
    """An example that a rule must match, and examples that an *allow* rule must not match."""

    match: str
    misses: tuple[str, ...]


class _HostAndPort(NamedTuple):
    """A host name, and a port, which is "" if none was given."""

    name: str
    port: str


@dataclass(frozen=True, slots=True)
class RuleDraft:
    """A permission rule as the user enters it; its fields are those of `PermissionRule`."""

    effect: Effect
    tool: str
    pattern: str = ""
    scope: RuleScope = "always"
    scope_id: str = ""


def by_precedence(rules: Sequence[PermissionRule]) -> list[PermissionRule]:
    """Return rules by precedence: deny, then ask, then allow. The order of rules with the same effect is irrelevant."""
    return sorted(rules, key=lambda rule: PRECEDENCE.index(rule.effect))


def applies(rule: PermissionRule, tool: str, folder: str, run: str) -> bool:
    """Return whether a rule applies to this tool in this folder and run, whatever its pattern."""
    if rule.tool not in (ANY, tool):
        return False
    match rule.scope:
        case "run":
            return bool(run) and rule.scope_id == run
        case "folder":
            return bool(folder) and rule.scope_id == folder
        case "always":
            return True
        case "once":
            return False


def allows(rule: PermissionRule, example: str) -> bool:
    """Return whether the pattern certainly covers `example`: a path, a host, or every command of a command line."""
    if not rule.pattern:
        return rule.subject == "none"
    match rule.subject:
        case "command":
            line = parse_line(example)
            return isinstance(line, ParsedLine) and all(allows_part(rule, part) for part in line.parts)
        case "path":
            return _path_fits(rule.pattern, example)
        case "host":
            return _host_fits(rule.pattern, example, ports=True)
        case "none":
            return False


def allows_part(rule: PermissionRule, part: tuple[str, ...]) -> bool:
    """Return whether an *allow* rule certainly covers one command of a parsed command line."""
    pattern = pattern_words(rule.pattern)
    prefix = _without_final_star(pattern)
    if part[: len(prefix)] != prefix:
        part = without_harmless_globals(part)
    if rule.subject != "command" or not pattern or part[: len(prefix)] != prefix:
        return False
    if unsafe_option_reason(part) or irreversible_reason(part):
        return False
    if pattern[-1] != ANY:
        return part == pattern
    return rule_covers(prefix, part[len(prefix) :])


def may_match(rule: PermissionRule, example: str) -> bool:
    """Return whether the rule may concern `example`. For *deny* and *ask* rules, a doubtful match counts."""
    if not rule.pattern:
        return True
    match rule.subject:
        case "command":
            expected = [word for word in pattern_words(rule.pattern) if word != ANY]
            line = parse_line(example)
            commands = [list(part) for part in line.parts] if isinstance(line, ParsedLine) else []
            return any(_occurs_in(expected, command) for command in (*commands, *split_loosely(example)))
        case "path":
            folded = _folded(example)
            return _path_fits(_folded(rule.pattern), folded) or _path_fits(_folded(rule.pattern) + "/**", folded)
        case "host":
            return _host_fits(rule.pattern, example, ports=False)
        case "none":
            return True


@lru_cache(maxsize=1024)
def pattern_words(pattern: str) -> tuple[str, ...]:
    """Return the words of a command pattern; an empty tuple if it is not a single plain command."""
    line = parse_line(pattern.removesuffix(" *"))
    if isinstance(line, UnclearLine) or len(line.parts) != 1 or not line.single:
        return ()
    words = line.parts[0]
    return (*words, ANY) if pattern.endswith(" *") else words


def _without_final_star(words: tuple[str, ...]) -> tuple[str, ...]:
    return words[:-1] if words[-1:] == (ANY,) else words


def check_rule(rule: PermissionRule) -> None:
    """Raise a Problem unless the rule has a valid pattern, is narrow enough, and agrees with its examples."""
    problem = _pattern_error(rule) or _example_error(rule)
    if problem:
        raise Problem(
            f"The rule `{rule.description}` cannot be saved.", problem, "Use a more specific command, path or host."
        )


def _pattern_error(rule: PermissionRule) -> str:
    if rule.scope == "once":
        return "An approval for one call is not a rule."
    if rule.scope in ("run", "folder") and not rule.scope_id:
        return f"It is limited to one {rule.scope} but does not name it."
    if rule.effect != "allow":
        return _broad_pattern_error(rule) if rule.pattern else ""
    if not rule.pattern and rule.subject != "none":
        return "It would allow everything."
    if rule.subject == "command":
        return _command_error(pattern_words(rule.pattern))
    if rule.subject == "path" and (not rule.pattern.strip("*/.") or ".." in rule.pattern.split("/")):
        return "It would allow every path."
    if rule.subject == "host" and not HOST_PATTERN.fullmatch(rule.pattern.casefold()):
        return "Its pattern is not a host name."
    return ""


def _broad_pattern_error(rule: PermissionRule) -> str:
    """Return why the pattern of a *deny* or *ask* rule could never match, or "" if it can."""
    if rule.subject == "command" and not pattern_words(rule.pattern):
        return "Its pattern is not a plain command."
    if rule.subject == "host" and not HOST_PATTERN.fullmatch(_ascii(rule.pattern.casefold()).rstrip(".")):
        return "Its pattern is not a host name."
    if rule.subject == "path" and rule.pattern.startswith(("/", "~", "..")):
        return "Its pattern must be relative to the folder. Files outside the folder are denied anyway."
    return ""


def _command_error(words: tuple[str, ...]) -> str:
    if not words:
        return "Its pattern is not a plain command."
    command = _without_final_star(words)
    if words[-1] == ANY and _is_too_broad(command):
        return f"`{' '.join(command)}` can do anything, depending on the words that follow."
    return unsafe_option_reason(command) or irreversible_reason(command)


def _is_too_broad(prefix: tuple[str, ...]) -> bool:
    """Return whether the words after this prefix could make the command run other code or use any file."""
    words = (program_name(prefix[0]), *prefix[1:])
    sets = program_sets()
    if words in sets.too_broad or words[0] in sets.wrappers | sets.shells:
        return True
    if known_command(prefix):
        return False
    return any(words[:length] in sets.too_broad_commands for length in range(2, len(words) + 1))


def _example_error(rule: PermissionRule) -> str:
    needs_misses = rule.effect == "allow" and rule.subject != "none"
    if not rule.matches or (needs_misses and not rule.misses):
        return "It has no examples."
    is_matched = allows if rule.effect == "allow" else may_match
    for example in rule.matches:
        if not is_matched(rule, example):
            return f"It should match `{example}`, but does not."
    for example in rule.misses:
        if is_matched(rule, example):
            return f"It should not match `{example}`, but does."
    return ""


def _occurs_in(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether a command contains the program of the pattern, at any path, and then its other words in order."""
    for index, word in enumerate(words):
        if pattern and program_name(word) == program_name(pattern[0]):
            following = iter(words[index + 1 :])
            if all(any(item in (word, word.split("=")[0]) for word in following) for item in pattern[1:]):
                return True
    return False


def _folded(path: str) -> str:
    return unicodedata.normalize("NFKC", path).casefold()


def _path_fits(pattern: str, path: str) -> bool:
    """Return whether a path inside the folder matches a glob, by component; `**` matches any number of components."""
    clean = posixpath.normpath(path)
    if clean.startswith(("/", "..")) or "\\" in path:
        return False
    return matches(pattern.split("/"), clean.split("/"))


def _host_fits(pattern: str, host: str, *, ports: bool) -> bool:
    """Return whether a host, optionally with a port, matches a pattern. `*.example.org` covers subdomains.

    With `ports`, the port must match too; a pattern without one covers the ports 80 and 443.
    """
    expected = _split_port(_ascii(pattern.casefold()).rstrip("."))
    actual = _split_port(_ascii(host.casefold()).rstrip("."))
    accepted_ports = (expected.port,) if expected.port else ("", "80", "443")
    if ports and actual.port not in accepted_ports:
        return False
    name = actual.name.rstrip(".")
    is_subdomain = expected.name.startswith("*.") and name.endswith(expected.name.removeprefix("*"))
    return name == expected.name or is_subdomain


def _ascii(host: str) -> str:
    """Return a host name in the ASCII (IDNA) form that DNS uses; unchanged if it has none."""
    try:
        return host if host.isascii() else ".".join(part.encode("idna").decode() for part in host.split("."))
    except UnicodeError:
        return host


def _split_port(host: str) -> _HostAndPort:
    match = re.fullmatch(r"(.*?)(?::(\d+))?", host)
    assert match is not None
    return _HostAndPort(name=match[1], port=match[2] or "")


def suggest_patterns(subject: Subject, subjects: Sequence[str]) -> tuple[str, ...]:
    """Return patterns of rules that would cover a call on these paths or hosts; none for commands."""
    if subject == "path":
        return tuple(dict.fromkeys(_path_pattern(path) for path in subjects))
    return tuple(dict.fromkeys(subjects)) if subject == "host" else ()


def command_pattern(part: tuple[str, ...]) -> str:
    """Return the pattern with the shortest prefix before `*` that a rule may allow for a command.

    If no prefix is allowed, return its exact words; "" if no rule may allow the command at all.
    """
    part = without_harmless_globals(part)
    for length in range(1, min(len(part), MAX_PREFIX_WORDS) + 1):
        pattern = _quoted((*part[:length], ANY))
        if known_command(part[:length]) and _may_allow(pattern, part):
            return pattern
    pattern = _quoted(part)
    return pattern if _may_allow(pattern, part) else ""


def _may_allow(pattern: str, part: tuple[str, ...]) -> bool:
    """Return whether a rule may have this pattern, and would then allow this command."""
    rule = PermissionRule(id="", effect="allow", tool="run", subject="command", pattern=pattern)
    return not _pattern_error(rule) and allows_part(rule, part)


def _quoted(words: Sequence[str]) -> str:
    """Join words into a command line, quoting words where a shell requires it."""
    safe_word = re.compile(r"[\w@%+=:,./^-]+|\*", re.ASCII)
    return " ".join(word if safe_word.fullmatch(word) else f"'{word}'" for word in words)


def _path_pattern(path: str) -> str:
    folder = posixpath.dirname(posixpath.normpath(path))
    return f"{folder}/*" if folder else posixpath.normpath(path)


def new_rule(
    id: str,
    effect: Effect,
    tool: str,
    subject: Subject,
    pattern: str,
    *,
    scope: RuleScope,
    scope_id: str = "",
    author: str = "user",
    created_at: int = 0,
    session: str = "",
) -> PermissionRule:
    """Return a new rule with generated examples; raise Problem if it must not be saved."""
    examples = _examples(subject, pattern)
    rule = PermissionRule(
        id=id,
        effect=effect,
        tool=tool,
        subject=subject,
        pattern=pattern,
        scope=scope,
        scope_id=scope_id,
        matches=(examples.match,),
        misses=examples.misses if effect == "allow" else (),
        author=author,
        created_at=created_at,
        session=session,
    )
    check_rule(rule)
    return rule


def _examples(subject: Subject, pattern: str) -> _RuleExamples:
    match subject:
        case "command":
            prefix = pattern.removesuffix(" *")
            command = known_command(pattern_words(prefix)) if prefix != pattern and pattern_words(prefix) else None
            example = f"{prefix} {command.example}" if command and command.example else prefix
            return _RuleExamples(example, misses=(f"{prefix}; rm -rf .", f"{prefix} $(id)", f"{prefix} > out"))
        case "path":
            example = pattern.replace("**", "a").replace("*", "a").replace("?", "a")
            return _RuleExamples(example, misses=(f"../{example}", "/etc/passwd"))
        case "host":
            example = pattern.replace("*", "www")
            return _RuleExamples(example, misses=(f"{example}.example.net",))
        case "none":
            return _RuleExamples(pattern, misses=())
