"""The permission policy: decides whether a tool call is allowed, denied or needs the user's approval.

These are pure functions without I/O. The order of precedence is: built-in denials, deny rules, plan mode, requests
that no rule can suppress, ask rules, allow rules, and finally the permission mode.
"""

import os
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from core.domain.command_line import ParsedLine, ReadLine, parse_line, read_line, split_loosely
from core.domain.control_files import control_files
from core.domain.ids import permission_id
from core.domain.modes import MODE_LABELS, Mode
from core.domain.permissions import (
    Allowed,
    Denied,
    NeedsApproval,
    PermissionRequest,
    PolicyDecision,
    SandboxLevel,
    fingerprint,
)
from core.domain.problems import Problem
from core.domain.protected_paths import all_read_only, changed_protected_paths, named_protected_paths
from core.domain.refusals import PLAN_MODE
from core.domain.rules import PermissionRule, allows, applies, may_match, suggest_patterns
from core.domain.sensitive_paths import is_hidden_from_commands, is_protected, is_read_only, is_secret, names_secret
from core.domain.trusted_files import WHY_PROTECTED
from core.domain.visible import visible_name
from core.engine.policy.command_reach import (
    CommandReach,
    guess_reach,
    irreversible_line_reason,
    matches_name,
    read_reach,
)
from core.engine.policy.command_rules import covering_rules, offered_patterns
from core.engine.policy.outbound import dictated_value, other_sources
from core.engine.policy.proposed_call import RULE_SUBJECTS, ProposedCall
from core.engine.policy.script_paths import marked_scripts
from core.tools.mcp_tools import mcp_server_of

MAX_COMMAND_CHARS = 20_000  # longer commands are denied, because nobody reads them before approving
EXCLUDED = re.compile(r"['\"]?--exclude(-dir)?=")  # begins an option such as `--exclude=.env`, which accesses no file
DICTATED = "The run has read content of {server}, and this call contains what you did not write: {value}"
READING_MODES: frozenset[Mode] = frozenset({"ask", "accept-edits"})  # need approval for commands, except read-only ones


@dataclass(frozen=True, slots=True)
class PolicyContext:
    """The circumstances under which a call is evaluated.

    Attributes:
        run: ID of the run; rules with the scope "run" apply only to the run they name.
        workspace: absolute path of the folder that the agent works in.
        data_dir: Journeyman's own data folder.
        level: how strong the sandbox for commands is on this computer, as determined by its self-test.
        changed_files: files the agent has written in this session.
        unsettled: paths that a command of this run has left in a state that can be neither checked nor reverted.
        user_words: the messages that the user has written in this session.
        dictation_reason: returns why untrusted content may have dictated a call, so that it needs approval, or "".
        hosts: hosts that commands of this run may reach; empty means no network access.
        granted_tools: tools that the user allowed when starting the run.
        agent: name of the sub-agent; empty for the session's main agent.
        posix_shell: whether commands are run by a POSIX shell.
        resolve: returns a path in the folder with its links resolved, relative to the folder.
        is_trusted: returns whether other programs trust a file and act on its contents, such as `.git/config`.
        content_mark: returns a digest of the current contents of a file in the folder, or "" without the file.
        expand: returns the files in the folder that match a pattern of the shell.
        secret_files: returns the files in the folder whose names say that they hold secrets.
        leads_outside: returns whether a path in the folder leads out of it through a link.
        outside_links: returns the links in the folder that lead out of it.
        inner_links: returns the other links in the folder, as link → target.
        searches_folder: returns whether the shell may run a program from the folder by its bare name.
        plain_git: returns whether no configuration in the folder makes git run programs.
    """

    session: str
    run: str
    workspace: str
    data_dir: str
    level: SandboxLevel
    changed_files: frozenset[str] = frozenset()
    user_words: tuple[str, ...] = ()
    dictation_reason: Callable[[ProposedCall], str] = lambda call: ""
    hosts: tuple[str, ...] = ()
    granted_tools: frozenset[str] = frozenset()
    unsettled: tuple[str, ...] = ()
    agent: str = ""
    posix_shell: bool = os.name == "posix"
    resolve: Callable[[str], str] = lambda path: path
    is_trusted: Callable[[str], bool] = is_protected
    content_mark: Callable[[str], str] = lambda path: ""
    expand: Callable[[str], Sequence[str]] = lambda pattern: ()
    secret_files: Callable[[], Sequence[str]] = lambda: ()
    leads_outside: Callable[[str], bool] = lambda path: False
    outside_links: Callable[[], Sequence[str]] = lambda: ()
    inner_links: Callable[[], Mapping[str, str]] = dict
    searches_folder: Callable[[], bool] = lambda: False
    plain_git: Callable[[], bool] = lambda: False


def evaluate_call(
    call: ProposedCall,
    mode: Mode,
    rules: Sequence[PermissionRule] | None,
    untrusted_sources: Sequence[str],
    context: PolicyContext,
) -> PolicyDecision:
    """Decide whether a call is allowed, denied or needs approval.

    `rules` is None if the rules file cannot be read; then every call with an effect needs approval.
    """
    in_scope = [rule for rule in rules or () if applies(rule, call.tool, context.workspace, context.run)]
    applicable = [rule for rule in in_scope if rule.subject == RULE_SUBJECTS[call.access] or not rule.pattern]
    denied = _built_in_denial(call, context) or _denied_by_rule(call, applicable, context)
    if denied := denied or _denied_by_plan_mode(call, mode):
        return denied
    if call.access == "none" and not any(rule.effect == "ask" for rule in applicable):
        return Allowed("it affects nothing outside the session")
    ask = _RequestBuilder(call, mode, tuple(sorted(untrusted_sources)), context)
    if forced := _mandatory_request(call, untrusted_sources, context, ask):
        return forced
    if rules is None:
        return ask("Your rules cannot be read, so every call needs your approval.", patterns=())
    for rule in applicable:
        if rule.effect == "ask" and _rule_matches(rule, call, context):
            return ask(f"Your rule: {rule.description}", rule=rule.id, patterns=())
    by_rules = _allowed_by_rules(call, applicable, mode, context)
    allowed_before = by_rules or call.tool in context.granted_tools
    if allowed_before and (value := dictated_value(call, untrusted_sources, context.user_words)):
        return ask(DICTATED.format(server=mcp_server_of(call.tool), value=visible_name(value)), patterns=())
    if not by_rules and (reason := context.dictation_reason(call)):
        return ask(reason)
    return by_rules or _allowed_by_mode(call, mode, context) or ask(_default_reason(call, mode, context))


@dataclass(frozen=True, slots=True)
class _RequestBuilder:
    """Builds the permission request for one call. Its arguments: why approval is needed, and the rule that says so."""

    call: ProposedCall
    mode: Mode
    untrusted_sources: tuple[str, ...]
    context: PolicyContext

    def __call__(self, why: str, *, rule: str = "", patterns: tuple[str, ...] | None = None) -> NeedsApproval:
        call = self.call
        context = self.context
        undoable = not (call.access == "execute" and irreversible_line_reason(call.subjects[0]))
        protected = _protected_targets(call, context)
        target_state = _target_state(call, context, protected)
        if protected:
            patterns = ()
        elif patterns is None:
            patterns = _offered_patterns(call, self.mode, context)
        request = PermissionRequest(
            id=permission_id(context.session, call.call_id),
            call_id=call.call_id,
            tool=call.tool,
            object=call.object,
            cwd=context.workspace,
            sandbox_level=context.level,
            fingerprint=fingerprint(
                call.tool, call.arguments, context.workspace, context.level, self.untrusted_sources, target_state
            ),
            reason=why,
            rule_id=rule,
            access=call.access,
            untrusted_sources=self.untrusted_sources,
            reversible=undoable,
            patterns=patterns if undoable else (),
            subagent=context.agent,
            protected_paths=protected,
            hosts=context.hosts if call.access == "execute" else (),
        )
        return NeedsApproval(request, call.arguments)


def _offered_patterns(call: ProposedCall, mode: Mode, context: PolicyContext) -> tuple[str, ...]:
    if call.access == "execute":
        reach = _reach(call, context)
        return offered_patterns(reach, partial(_needs_no_rule, mode, context)) if reach else ()
    if _is_path(call):
        return suggest_patterns("path", [_relative(path, context) for path in call.subjects])
    return suggest_patterns(RULE_SUBJECTS[call.access], call.subjects)


def _protected_targets(call: ProposedCall, context: PolicyContext) -> tuple[str, ...]:
    """Return the protected files that a tool would write or that a command mentions; () for other calls."""
    if call.access == "execute":
        commands = _command_words(call.subjects[0])
        named_paths = named_protected_paths(_with_reach(call, context, commands), partial(_path_in_folder, context))
        return tuple(dict.fromkeys((*named_paths, *changed_protected_paths(commands))))
    if call.access != "write":
        return ()
    names = [_both_names(path, context) for path in call.subjects]
    return tuple(dict.fromkeys(each.resolved for each in names if any(map(context.is_trusted, each))))


def _reach(call: ProposedCall, context: PolicyContext) -> CommandReach | None:
    """Return which files a command reads and changes and which code it runs, or None if it cannot be parsed."""
    line = read_line(call.subjects[0])
    if not isinstance(line, ReadLine):
        return None
    return read_reach(line, context.workspace, context.expand, partial(_path_in_folder, context))


def _with_reach(call: ProposedCall, context: PolicyContext, commands: list[list[str]]) -> list[list[str]]:
    """Return the commands and, as one further list of words, the paths they access after `cd` and glob expansion."""
    reach = _reach(call, context)
    return [*commands, list(reach.paths())] if reach and reach.line.special else commands


def _path_in_folder(context: PolicyContext, path: str) -> str:
    """Interpret a word of a command as a path, and return that path relative to the folder."""
    try:
        return _relative(context.resolve(path), context)
    except (Problem, ValueError):
        return _relative(path, context)


def _target_state(call: ProposedCall, context: PolicyContext, protected: tuple[str, ...]) -> tuple[str, ...]:
    if call.access == "execute":
        return (*protected, *marked_scripts(call.subjects[0], context.content_mark))
    if call.access != "write":
        return protected
    marks = tuple(context.content_mark(path) for path in call.subjects)
    return (*marks, *protected) if protected or any(marks) else ()


def _is_path(call: ProposedCall) -> bool:
    return RULE_SUBJECTS[call.access] == "path"


def _relative(path: str, context: PolicyContext) -> str:
    """Return the path relative to the folder; it begins with `..` or `/` if it is outside."""
    clean = posixpath.normpath(path.replace("\\", "/") if not context.posix_shell else path)
    if posixpath.isabs(clean):
        root = posixpath.normpath(context.workspace)
        is_inside = clean == root or clean.startswith(root.rstrip("/") + "/")
        return posixpath.relpath(clean, root) if is_inside else clean
    return clean


class _PathNames(NamedTuple):
    """A path relative to the folder, as written and with its links resolved."""

    written: str
    resolved: str


def _both_names(path: str, context: PolicyContext) -> _PathNames:
    return _PathNames(_relative(path, context), _relative(context.resolve(path), context))


def _built_in_denial(call: ProposedCall, context: PolicyContext) -> Denied | None:
    """Deny access to paths outside the folder, secrets and Journeyman's data. No rule or approval can allow it."""
    if _is_path(call):
        for path in call.subjects:
            for relative in set(_both_names(path, context)):
                if relative.startswith(("../", "/")) or relative == "..":
                    return Denied(f"{path} is outside the folder.")
                if is_secret(relative):
                    return Denied(f"{path} contains secrets. The user can open it, but an agent cannot.")
                if _in_data_dir(posixpath.join(context.workspace, relative), context):
                    return Denied(f"{path} is in Journeyman's own data folder.")
    if call.access == "execute":
        if len(call.subjects[0]) > MAX_COMMAND_CHARS:
            reason = f"The command is longer than {MAX_COMMAND_CHARS:,} characters. Write a script file and run that."
            return Denied(reason)
        reach = _reach(call, context)
        joined = list(reach.paths()) if reach and reach.folders != ("",) else []
        for words in (*_command_words(call.subjects[0]), call.subjects[0].split(), joined):
            for word in words:
                if names_secret(word) and not EXCLUDED.match(word):
                    return Denied(f"The command names {word}, which contains secrets.")
        data = context.data_dir
        if data and data in call.subjects[0] and not context.workspace.startswith(data):
            return Denied("The command names Journeyman's own data folder.")
    return None


def _in_data_dir(path: str, context: PolicyContext) -> bool:
    """Return whether a path is in Journeyman's data folder; False if the workspace itself is in it."""
    data = context.data_dir.rstrip("/")
    return bool(data) and (path == data or path.startswith(data + "/")) and not context.workspace.startswith(data + "/")


def _command_words(command: str) -> list[list[str]]:
    """Return the words of each command of a line. If the line cannot be parsed, split it approximately."""
    line = parse_line(command)
    if isinstance(line, ParsedLine):
        return [list(part) for part in line.parts]
    return split_loosely(command)


def _rule_matches(rule: PermissionRule, call: ProposedCall, context: PolicyContext) -> bool:
    if not rule.pattern or not call.subjects:
        return not rule.pattern
    if not _is_path(call):
        return any(may_match(rule, subject) for subject in call.subjects)
    return any(may_match(rule, name) for path in call.subjects for name in _both_names(path, context))


def _denied_by_rule(call: ProposedCall, rules: Sequence[PermissionRule], context: PolicyContext) -> Denied | None:
    for rule in rules:
        if rule.effect == "deny" and _rule_matches(rule, call, context):
            return Denied(f"Your rule: {rule.description}", rule.id)
    return None


def _denied_by_plan_mode(call: ProposedCall, mode: Mode) -> Denied | None:
    if mode == "plan" and call.access not in ("none", "read"):
        return Denied(PLAN_MODE.text_for_model())
    return None


def _mandatory_request(
    call: ProposedCall, untrusted_sources: Sequence[str], context: PolicyContext, ask: _RequestBuilder
) -> NeedsApproval | None:
    """Return the request for a call that needs approval regardless of allow rules, or None."""
    if context.unsettled and call.access != "none":
        return ask(f"A command left {_join(context.unsettled)} so that changes there cannot be checked.", patterns=())
    if call.access == "write":
        if protected := _protected_targets(call, context):
            return ask(f"Other programs execute or follow {_join(protected)}.")
        if not call.subjects:
            return ask("It is unknown which files this call changes.", patterns=())
    outbound = call.access == "network" or (call.access == "execute" and bool(context.hosts))
    if outbound and (sources := other_sources(call.tool, untrusted_sources)):
        return ask(f"The run has read untrusted content ({sources[0]}), and this call can send data out.", patterns=())
    return _mandatory_command_request(call, context, ask) if call.access == "execute" else None


def _mandatory_command_request(
    call: ProposedCall, context: PolicyContext, ask: _RequestBuilder
) -> NeedsApproval | None:
    line = parse_line(call.subjects[0])
    if irreversible := irreversible_line_reason(call.subjects[0]):
        return ask(f"{irreversible}.")
    if context.level != "none" and (protected_reason := _reach_of_protected(call, context)):
        return ask(f"{protected_reason}, {WHY_PROTECTED}.")
    if context.level == "none":
        return ask("Commands are not sandboxed on this computer, so each one needs your approval.", patterns=())
    if secrets := _shown_secrets(call, context):
        return ask(f"It may show {_join(secrets)}, which the sandbox does not hide from it.", patterns=())
    if not context.posix_shell and not (isinstance(line, ParsedLine) and line.single):
        return ask("Commands for this shell cannot be analyzed reliably.", patterns=())
    reach = _reach(call, context)
    for part in reach.line.parts if reach else ():
        for pattern in control_files(part):
            if changed := sorted(path for path in context.changed_files if matches_name(path, pattern)):
                return ask(f"{part[0]} executes {changed[0]}, which the agent has changed.", patterns=())
    return None


def _reach_of_protected(call: ProposedCall, context: PolicyContext) -> str:
    """Return why a command may change protected files, or "" if it cannot.

    It may do so if it is known to change such files, or if it names one and the sandbox cannot prevent the write.
    """
    commands = _command_words(call.subjects[0])
    if changed := changed_protected_paths(commands):
        return f"It changes {_join(changed)}"
    if context.level == "verified":
        return ""
    line = read_line(call.subjects[0])
    if isinstance(line, ReadLine) and not line.outputs and all_read_only(p for p in line.parts if p[0] != "cd"):
        return ""
    # Skip the first word of each command: running a protected file such as `gradlew` does not change it.
    commands = _with_reach(call, context, [words if is_read_only(words[0]) else words[1:] for words in commands])
    targets = named_protected_paths(commands, partial(_path_in_folder, context))
    return f"The sandbox on this computer cannot stop a command from changing {_join(targets)}" if targets else ""


def _join(names: tuple[str, ...]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{names[0]}, {names[1]} and {len(names) - 2} more"


def _shown_secrets(call: ProposedCall, context: PolicyContext) -> tuple[str, ...]:
    """Return the files with secrets that a command may show because it reads patterns or whole folders."""
    reach = _reach(call, context) or guess_reach(call.subjects[0], context.expand, partial(_path_in_folder, context))
    return reach.shown_secrets(context.secret_files, masked=context.level == "verified", links=context.inner_links)


def _readable_secrets(call: ProposedCall, context: PolicyContext) -> tuple[str, ...]:
    """Return the files with secrets that code could read, because this sandbox hides no files of the folder."""
    reach = _reach(call, context)
    if context.level == "verified" or reach is None or not reach.runs_other_code:
        return ()
    return tuple(path for path in context.secret_files() if is_hidden_from_commands(path))


def _only_reads_folder(call: ProposedCall, context: PolicyContext) -> bool:
    """Return whether a command only reads files of the folder, so that READING_MODES allow it like the `read` tool."""
    reach = _reach(call, context)
    # Any sandbox prevents changes, but only a verified one hides secret files from code that the command runs, such as
    # a program that the configuration of git names, and it hides only some of them.
    is_verified = context.level == "verified"
    enforced = all(is_verified and is_hidden_from_commands(path) for path in context.secret_files())
    return reach is not None and _only_reads(reach, context, enforced=enforced)


def _needs_no_rule(mode: Mode, context: PolicyContext, reach: CommandReach) -> bool:
    """Return whether the mode allows these parts of a compound command without a rule, because they only read."""
    return mode in READING_MODES and _only_reads(reach, context, enforced=False)


def _only_reads(reach: CommandReach, context: PolicyContext, *, enforced: bool) -> bool:
    if not context.posix_shell or context.searches_folder():
        return False
    return reach.only_reads_folder(
        context.secret_files,
        partial(_located, context),
        masked=context.level == "verified",
        enforced=enforced,
        offline=not context.hosts,
        plain_git=context.plain_git,
        outside_links=context.outside_links,
        links=context.inner_links,
    )


def _located(context: PolicyContext, path: str) -> str:
    """Return a path relative to the folder with its links resolved, or `..` if it is outside or not resolvable."""
    try:
        return ".." if context.leads_outside(path) else _relative(context.resolve(path), context)
    except (Problem, ValueError):
        return ".."


def _allowed_by_rules(
    call: ProposedCall, rules: Sequence[PermissionRule], mode: Mode, context: PolicyContext
) -> Allowed | None:
    """Allow the call if an allow rule covers each of its command parts, paths or hosts."""
    allowing = [rule for rule in rules if rule.effect == "allow" and rule.subject == RULE_SUBJECTS[call.access]]
    if not allowing:
        return None
    argv: tuple[str, ...] = ()
    matches: Sequence[PermissionRule | None]
    if call.access == "execute":
        reach = _reach(call, context)
        if reach is None:
            return None
        argv = reach.line.parts[0] if reach.line.single and not reach.line.special else ()
        matches = covering_rules(reach, allowing, partial(_needs_no_rule, mode, context)) or ()
    elif _is_path(call):
        names = [_both_names(path, context) for path in call.subjects]
        matches = [next((rule for rule in allowing if all(allows(rule, n) for n in each)), None) for each in names]
    else:
        matches = [next((rule for rule in allowing if allows(rule, subject)), None) for subject in call.subjects]
    applied = [rule for rule in matches if rule]
    if not applied or None in matches:
        return None
    descriptions = dict.fromkeys(rule.description for rule in applied)
    return Allowed(f"your rule: {'; '.join(descriptions)}", " ".join(dict.fromkeys(rule.id for rule in applied)), argv)


def _allowed_by_mode(call: ProposedCall, mode: Mode, context: PolicyContext) -> Allowed | None:
    granted = call.tool in context.granted_tools
    allowed = f"allowed when the run began: {call.tool}" if granted else f"mode: {mode}"
    match call.access:
        case "read" if granted or mode != "ask-all":
            return Allowed(allowed)
        case "write" if granted or mode in ("accept-edits", "auto"):
            return Allowed(allowed)
        case "network" if granted:
            return Allowed(allowed)
        case "execute" if mode in READING_MODES and not granted:
            reads = _only_reads_folder(call, context)
            return Allowed("it only reads files in the folder", read_only=True) if reads else None
        case "execute" if granted or mode == "auto":
            line = parse_line(call.subjects[0])
            argv = line.parts[0] if isinstance(line, ParsedLine) and line.single else ()
            if context.level == "verified":
                return Allowed(allowed, argv=argv)
            reach = _reach(call, context)
            understood = reach is not None and reach.is_understood
            return Allowed(allowed, argv=argv) if understood and not _readable_secrets(call, context) else None
        case _:
            return None


def _default_reason(call: ProposedCall, mode: Mode, context: PolicyContext) -> str:
    """Return the reason for a permission request that no rule demands: the mode does not allow the call."""
    if call.access == "execute":
        if mode == "auto" and (readable := _readable_secrets(call, context)):
            return f"The sandbox on this computer cannot keep it from reading {_join(readable)}."
        line = parse_line(call.subjects[0])
        if not isinstance(line, ParsedLine):
            return f"The command could not be parsed completely: {line.reason}."
        return "No saved rule allows this command, so it needs your approval."
    activity = {"read": "reading", "write": "changes to files", "network": "the network"}[call.access]
    return f"The mode “{MODE_LABELS[mode]}” requires approval for {activity}."
