"""Rules a person makes: which calls are allowed, asked about or denied. *Allow* is read narrowly, *deny* widely."""

import posixpath
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from core.domain.command_line import Unclear, Understood, loose_words, program_of, read_line
from core.domain.consent import Scope
from core.domain.globs import matches
from core.domain.problems import Problem
from core.domain.programs import OPEN_ENDED, for_good, harmless_options, never_remembered

Effect = Literal["allow", "ask", "deny"]
Subject = Literal["command", "path", "host", "none"]
ANY = "*"
HOST = re.compile(r"(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*(:\d{1,5})?|\[[0-9a-f:]+\](:\d{1,5})?")


@dataclass(frozen=True, slots=True)
class Rule:
    """`pattern` is words of a command (a last `*` stands for plain words after them), a path glob, or a host.

    `where` is the folder of a *folder* rule and the run of a *run* rule. `matches` and `misses` are examples that are
    tried whenever the rule is made or read. `made` is when, `session` from which session, `by` who made it.
    """

    id: str
    effect: Effect
    tool: str
    subject: Subject
    pattern: str = ""
    scope: Scope = "always"
    where: str = ""
    matches: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()
    by: str = "person"
    made: int = 0
    session: str = ""

    @property
    def words(self) -> str:
        """The rule in one line."""
        return f"{self.effect} {self.tool}" + (f": {self.pattern}" if self.pattern else "")


def applies(rule: Rule, tool: str, folder: str, run: str) -> bool:
    """Does the rule speak of this tool, here and now?"""
    if rule.tool not in (ANY, tool):
        return False
    match rule.scope:
        case "run":
            return bool(run) and rule.where == run
        case "folder":
            return bool(folder) and rule.where == folder
        case "always":
            return True
        case "once":
            return False


def allows(rule: Rule, example: str) -> bool:
    """Is this whole subject — every part of a command — certainly what the rule means?"""
    if not rule.pattern:
        return rule.subject == "none"
    match rule.subject:
        case "command":
            line = read_line(example)
            return isinstance(line, Understood) and all(allows_part(rule, part) for part in line.parts)
        case "path":
            return _path_fits(rule.pattern, example)
        case "host":
            return _host_fits(rule.pattern, example, ports=True)
        case "none":
            return False


def allows_part(rule: Rule, part: tuple[str, ...]) -> bool:
    """Is one fully understood command certainly what the rule means?"""
    wanted = pattern_words(rule.pattern)
    prefix = wanted[:-1] if wanted[-1:] == (ANY,) else wanted
    if rule.subject != "command" or not wanted or part[: len(prefix)] != prefix:
        return False
    if never_remembered(part) or for_good(part):
        return False
    if wanted[-1] != ANY:
        return part == wanted
    harmless = harmless_options(prefix)
    return all(_is_plain(word) or word in harmless for word in part[len(prefix) :])


def touches(rule: Rule, example: str) -> bool:
    """Could this be what the rule means? For *deny* and *ask*: in doubt it is."""
    if not rule.pattern:
        return True
    match rule.subject:
        case "command":
            wanted = [word for word in pattern_words(rule.pattern) if word != ANY]
            line = read_line(example)
            pieces = [list(part) for part in line.parts] if isinstance(line, Understood) else []
            return any(_hidden_in(wanted, piece) for piece in (*pieces, *loose_words(example)))
        case "path":
            folded = _folded(example)
            return _path_fits(_folded(rule.pattern), folded) or _path_fits(_folded(rule.pattern) + "/**", folded)
        case "host":
            return _host_fits(rule.pattern, example, ports=False)
        case "none":
            return True


@lru_cache(maxsize=1024)
def pattern_words(pattern: str) -> tuple[str, ...]:
    """The words of a command pattern; none where it is no plain command."""
    body, star = (pattern[:-2], (ANY,)) if pattern.endswith(" *") else (pattern, ())
    line = read_line(body)
    if isinstance(line, Unclear) or len(line.parts) != 1 or not line.single:
        return ()
    return (*line.parts[0], *star)


def check(rule: Rule) -> None:
    """Raise Problem unless the rule is one that can be kept: readable, narrow enough, and true of its examples."""
    wrong = _wrong_pattern(rule) or _wrong_example(rule)
    if wrong:
        raise Problem(f"The rule `{rule.words}` cannot be kept.", wrong, "Name the command, path or host more exactly.")


def _wrong_pattern(rule: Rule) -> str:
    if rule.scope == "once":
        return "A yes for once is no rule."
    if rule.scope in ("run", "folder") and not rule.where:
        return f"It is for one {rule.scope} but does not say which."
    if rule.effect != "allow":
        words = rule.subject != "command" or not rule.pattern or pattern_words(rule.pattern)
        return "" if words else "Its pattern is no plain command."
    if not rule.pattern and rule.subject != "none":
        return "It would allow everything."
    if rule.subject == "command":
        return _wrong_command(pattern_words(rule.pattern))
    if rule.subject == "path" and (not rule.pattern.strip("*/.") or ".." in rule.pattern.split("/")):
        return "It would allow every path."
    if rule.subject == "host" and not HOST.fullmatch(rule.pattern.casefold()):
        return "Its pattern is no host."
    return ""


def _wrong_command(words: tuple[str, ...]) -> str:
    if not words:
        return "Its pattern is no plain command."
    if words[-1] == ANY and (program_of(words[0]), *words[1:-1]) in OPEN_ENDED:
        return f"`{' '.join(words[:-1])}` can do anything with the words that follow."
    named = words[:-1] if words[-1] == ANY else words
    return never_remembered(named) or for_good(named)


def _wrong_example(rule: Rule) -> str:
    if not rule.matches or (rule.effect == "allow" and rule.subject != "none" and not rule.misses):
        return "It carries no examples."
    fits = allows if rule.effect == "allow" else touches
    for example in rule.matches:
        if not fits(rule, example):
            return f"It should speak of `{example}`, and does not."
    for example in rule.misses:
        if fits(rule, example):
            return f"It should not speak of `{example}`, and does."
    return ""


def _is_plain(word: str) -> bool:
    """A word that names something in the folder, or a revision, and gives no order."""
    if word.startswith(("-", "/", "~", "@", "+", "^", ":", "\\")) or "=" in word or "://" in word or "::" in word[:5]:
        return False
    if ".." in re.split(r"[/\\]", word) or re.match(r"[\w.-]+@[\w.-]+:|[A-Za-z]:[\\/]", word):
        return False
    return word != ""


def _hidden_in(wanted: Sequence[str], words: Sequence[str]) -> bool:
    """The program anywhere, by any path, and the other words after it in order."""
    for at, word in enumerate(words):
        if wanted and program_of(word) == program_of(wanted[0]):
            rest = iter(words[at + 1 :])
            if all(any(want in (word, word.split("=")[0]) for word in rest) for want in wanted[1:]):
                return True
    return False


def _folded(path: str) -> str:
    return unicodedata.normalize("NFKC", path).casefold()


def _path_fits(pattern: str, path: str) -> bool:
    """Part by part; `**` stands for any number of parts. Both are relative to the folder."""
    clean = posixpath.normpath(path)
    if clean.startswith(("/", "..")) or "\\" in path:
        return False
    return matches(pattern.split("/"), clean.split("/"))


def _host_fits(pattern: str, host: str, *, ports: bool) -> bool:
    """`*.example.org` means its subdomains; a host without a port means the usual ones."""
    wanted, found = (_ascii(text.casefold()).rstrip(".") for text in (pattern, host))
    wanted_name, wanted_port = _port(wanted)
    name, port = _port(found)
    name = name.rstrip(".")
    if ports and port not in ((wanted_port,) if wanted_port else ("", "80", "443")):
        return False
    return name == wanted_name or (wanted_name.startswith("*.") and name.endswith(wanted_name[1:]))


def _ascii(host: str) -> str:
    """A name in other letters as the network knows it."""
    try:
        return host if host.isascii() else ".".join(part.encode("idna").decode() for part in host.split("."))
    except UnicodeError:
        return host


def _port(host: str) -> tuple[str, str]:
    found = re.fullmatch(r"(.*?)(?::(\d+))?", host)
    assert found is not None
    return found[1], found[2] or ""


def proposals(tool: str, subject: Subject, subjects: Sequence[str]) -> tuple[str, ...]:
    """What a yes could be remembered as: one pattern for each part of a command; none where it is not understood."""
    if not subjects:
        return ()
    if subject == "command":
        line = read_line(subjects[0])
        if isinstance(line, Unclear):
            return ()
        found = tuple(dict.fromkeys(_proposed(part) for part in line.parts))
        return found if all(found) else ()
    if subject == "path":
        return tuple(dict.fromkeys(_proposed_path(path) for path in subjects))
    return tuple(dict.fromkeys(subjects)) if subject == "host" else ()


def _proposed(part: tuple[str, ...]) -> str:
    """The program, its subcommand and `*` where that covers the command, else its exact words; else nothing."""
    for length in (1, 2, 3):
        pattern = _quoted((*part[:length], ANY))
        rule = Rule("", "allow", "run", "command", pattern)
        if not _wrong_pattern(rule) and harmless_options(part[:length]) and allows_part(rule, part):
            return pattern
    pattern = _quoted(part)
    rule = Rule("", "allow", "run", "command", pattern)
    return pattern if not _wrong_pattern(rule) and allows_part(rule, part) else ""


def _quoted(words: Sequence[str]) -> str:
    """Words as they would be typed."""
    plain = re.compile(r"[\w@%+=:,./^-]+|\*", re.ASCII)
    return " ".join(word if plain.fullmatch(word) else f"'{word}'" for word in words)


def _proposed_path(path: str) -> str:
    folder = posixpath.dirname(posixpath.normpath(path))
    return f"{folder}/*" if folder else posixpath.normpath(path)


def made_rule(
    id: str, effect: Effect, tool: str, subject: Subject, pattern: str, *, scope: Scope, where: str = "",
    example: str = "", by: str = "person", made: int = 0, session: str = "",
) -> Rule:  # fmt: skip
    """A rule with examples of its own; raises Problem where it cannot be kept."""
    rule = Rule(id, effect, tool, subject, pattern, scope, where, by=by, made=made, session=session)
    fits, misses = _examples(subject, pattern)
    if effect == "deny" or effect == "ask":
        misses = ()
    whole = Rule(**{
        **{name: getattr(rule, name) for name in Rule.__slots__},
        "matches": tuple(dict.fromkeys((*((example,) if example else ()), fits))), "misses": misses,
    })  # fmt: skip
    check(whole)
    return whole


def _examples(subject: Subject, pattern: str) -> tuple[str, tuple[str, ...]]:
    match subject:
        case "command":
            bare = pattern.removesuffix(" *")
            return bare, (f"{bare}; rm -rf .", f"{bare} $(id)", f"{bare} > out")
        case "path":
            fit = pattern.replace("**", "a").replace("*", "a").replace("?", "a")
            return re.sub(r"\[.*?\]", "a", fit) if "[" not in pattern else fit, (f"../{fit}", "/etc/passwd")
        case "host":
            return pattern.replace("*", "www"), (f"{pattern.replace('*', 'www')}.example.net",)
        case "none":
            return pattern, ()
