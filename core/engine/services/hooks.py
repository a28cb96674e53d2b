"""Runs the user's hooks: commands for certain moments of a run, configured in `hooks.toml` in the data folder.

Packages that the user trusts can bring more hooks. Hooks run with the user's permissions, outside the sandbox, because
only the user can write these files. They run in the data folder and find no programs of the session's folder, because
commands of an agent can change those.
"""

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, get_args

from core.domain.events import HarnessMessage, HookRan
from core.domain.problems import Problem
from core.domain.text import Text
from core.packages.package_index import PackageIndex
from core.store import former_names
from core.workspace.launcher import CommandLimits, CommandRequest, ProcessLaunch, clean_environment, with_limits
from core.workspace.program_search import own_path
from core.workspace.running_command import start_command

HookMoment = Literal[
    "run_start",
    "user_message",
    "memories_recalled",
    "before_compaction",
    "after_compaction",
    "turn_start",
    "before_request",
    "after_reply",
    "before_calls",
    "before_call",
    "question",
    "after_call",
    "call_failed",
    "after_calls",
    "turn_end",
    "before_end",
    "run_end",
]
HOOK_MOMENTS: tuple[HookMoment, ...] = get_args(HookMoment)
HOOKS_FILE = "hooks.toml"
HOOK_REASON = "your hook"  # begins the recorded reason of each harness message that comes from a hook
MAX_FILE_BYTES = 64 << 10
MAX_TIMEOUT_S = 600.0
DEFAULT_TIMEOUT_S = 10.0
REFUSAL_EXIT_CODE = 2  # A hook exits with this code to refuse a call.
MAX_OUTPUT_CHARS = 20_000
# The moments at which a hook can add context to the conversation.
CONTEXT_MOMENTS = frozenset(HOOK_MOMENTS) - {
    "before_request",
    "after_reply",
    "question",
    "turn_end",
    "before_end",
    "run_end",
}
# The keys in the JSON object that a hook may print, and the moments at which each has an effect.
DIRECTIVES: Mapping[str, frozenset[HookMoment]] = {
    "context": CONTEXT_MOMENTS,
    "arguments": frozenset({"before_call"}),
    "result": frozenset({"before_call"}),
    "failed": frozenset({"before_call"}),
    "stop": frozenset(HOOK_MOMENTS) - {"question", "before_end", "run_end"},
}
FOLDER_VARIABLE = "JOURNEYMAN_FOLDER"  # environment variable of hooks: the folder of the session
DESKTOP_VARIABLES = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")


@dataclass(frozen=True, slots=True)
class Hook:
    """A command and the moment at which it runs.

    `tools` are tool names or glob patterns that limit hooks for calls; an empty tuple matches every tool. `place` is
    the folder in which the command runs. `root` is the folder of the package that brings the hook, which the command
    gets as PACKAGE_ROOT; None for the user's own hooks.
    """

    on: HookMoment
    command: str
    tools: tuple[str, ...] = ()
    timeout_s: float = DEFAULT_TIMEOUT_S
    place: Path = Path("/")
    root: Path | None = None

    def matches(self, moment: HookMoment, tool: str) -> bool:
        return self.on == moment and (not self.tools or any(fnmatchcase(tool, pattern) for pattern in self.tools))


@dataclass(frozen=True, slots=True)
class HookOutcome:
    """What the hooks of one moment decided.

    Attributes:
        refusal: why a hook refuses; empty if none does.
        context: texts to add to the conversation.
        arguments: the arguments that replace those of the call, as JSON; empty if they stay.
        result: the result of the call, which is then not executed; None if there is none.
        failed: whether that result is an error.
        stop: why the run has to stop; empty if it goes on.
    """

    refusal: str = ""
    context: tuple[str, ...] = ()
    arguments: str = ""
    result: str | None = None
    failed: bool = False
    stop: str = ""


NO_OUTCOME = HookOutcome()


def load_hooks(data: Path) -> tuple[Hook, ...]:
    """Load the user's hooks and those of the packages that the user trusts.

    If they cannot be read, raise Problem instead of ignoring them, because a hook may be meant to refuse calls.
    """
    path = data / HOOKS_FILE
    try:
        own = read_hooks(path)
    except (OSError, ValueError) as error:  # ValueError includes invalid TOML and invalid UTF-8.
        raise Problem("Your hooks cannot be read, so no run can start.", f"{error}.", f"Correct {path}.") from error
    return (*own, *_package_hooks(data))


def _package_hooks(data: Path) -> Iterator[Hook]:
    index = PackageIndex(data)
    for package in index.packages():
        if index.state(package) == "trusted":
            root = index.folder(package.name)
            try:
                yield from [replace(hook, place=data, root=root) for hook in read_hooks(root / HOOKS_FILE)]
            except (OSError, ValueError) as error:  # An older version of Journeyman may have accepted the file.
                fix = f"Update or remove it: journeyman packages show {package.name}"
                raise Problem(f"The hooks of the package {package.name} cannot be read.", f"{error}.", fix) from error
        elif package.has_hooks:
            raise Problem(
                f"The package {package.name} is not as you trusted it, so no run can start.",
                "It has hooks, which may refuse calls.",
                f"Review it with `journeyman packages show {package.name}`, and trust or remove it.",
            )


def read_hooks(path: Path) -> tuple[Hook, ...]:
    """Return the hooks in a file; none if it does not exist. Raise OSError or ValueError if it is not valid."""
    if not path.exists():
        return ()
    if path.stat().st_size > MAX_FILE_BYTES:
        raise ValueError(f"it is larger than {MAX_FILE_BYTES:,} bytes")
    document = tomllib.loads(path.read_text("utf-8"))
    if unknown := sorted(set(document) - {"hook"}):
        raise ValueError(f"unknown key {unknown[0]!r}; only [[hook]] is allowed")
    entries = document.get("hook", [])
    if not isinstance(entries, list):
        raise ValueError("hooks are written as [[hook]]")
    return tuple(_parse(entry, path.parent) for entry in entries)


def _parse(entry: Any, data: Path) -> Hook:
    if not isinstance(entry, dict):
        raise ValueError("hooks are written as [[hook]]")
    if unknown := sorted(set(entry) - {"on", "command", "tools", "time_s"}):
        raise ValueError(f"unknown key {unknown[0]!r} in a hook")
    name = entry.get("on")
    name = former_names.HOOK_MOMENTS.get(name, name) if isinstance(name, str) else name
    on = next((moment for moment in HOOK_MOMENTS if moment == name), None)
    command = entry.get("command")
    tools = entry.get("tools", [])
    time_s = entry.get("time_s", DEFAULT_TIMEOUT_S)
    if on is None:
        raise ValueError(f"on: {entry.get('on')!r} is not one of {', '.join(HOOK_MOMENTS)}")
    if not isinstance(command, str) or not command.strip():
        raise ValueError("a hook needs a command")
    if not isinstance(tools, list) or not all(isinstance(tool, str) for tool in tools):
        raise ValueError("tools: must be a list of names")
    if isinstance(time_s, bool) or not isinstance(time_s, int | float) or not 0 < time_s <= MAX_TIMEOUT_S:
        raise ValueError(f"time_s: must be a number of seconds, at most {MAX_TIMEOUT_S:g}")
    return Hook(on, command, tuple(tools), float(time_s), data)


async def run_hooks(
    hooks: Sequence[Hook], moment: HookMoment, tool: str, folder: Path, payload: Mapping[str, Any]
) -> list[HookRan]:
    """Run the hooks of this moment in order until one refuses or supplies the result of the call.

    Each hook reads `payload` as JSON from standard input. It contains the arguments as changed by earlier hooks.
    """
    ran: list[HookRan] = []
    for hook in hooks:
        if not hook.matches(moment, tool):
            continue
        done = await _run(hook, folder, {"moment": moment, "folder": str(folder), **payload})
        done = replace(done, reason=done.reason or directive_error(done, done.output.head))
        ran.append(done)
        outcome = hook_outcome([done])
        if done.blocked or outcome.result is not None:
            break
        call = payload.get("call")
        if outcome.arguments and isinstance(call, dict):
            payload = {**payload, "call": {**call, "arguments": outcome.arguments}}
    return ran


def hook_outcome(ran: Sequence[HookRan], read_text: Callable[[Text], str] = lambda text: text.head) -> HookOutcome:
    """Combine the decisions of hooks that have run. The first refusal wins.

    `read_text` returns their full output, which may be in a blob once it is recorded.
    """
    outcome = NO_OUTCOME
    for done in ran:
        output = read_text(done.output)
        if done.blocked:
            return replace(outcome, refusal=output.strip() or done.reason or "no reason was given")
        outcome = _with_directives(outcome, _directives(done, output))
    return outcome


def _with_directives(outcome: HookOutcome, directives: Mapping[str, Any]) -> HookOutcome:
    """Return the outcome after another hook, which has printed these directives."""
    if context := directives.get("context"):
        outcome = replace(outcome, context=(*outcome.context, str(context)))
    if "arguments" in directives:
        outcome = replace(outcome, arguments=json.dumps(directives["arguments"], ensure_ascii=False))
    if "result" in directives:
        outcome = replace(outcome, result=str(directives["result"]))
    return replace(
        outcome,
        failed=bool(directives.get("failed", outcome.failed)),
        stop=outcome.stop or str(directives.get("stop", "")),
    )


def context_messages(outcome: HookOutcome) -> list[HarnessMessage]:
    """Return the messages with the context that hooks add to the conversation."""
    reason = f"{HOOK_REASON} adds context"
    return [HarnessMessage(Text(f"[A user hook adds: {text}]"), reason) for text in outcome.context]


def directive_error(done: HookRan, output: str) -> str:
    """Return what is wrong with the JSON object that a hook printed; "" if it is valid or the hook printed none."""
    for name, value in _printed_object(done, output).items():
        if name not in DIRECTIVES:
            return f"{name!r} is not one of {', '.join(DIRECTIVES)}"
        if done.trigger not in DIRECTIVES[name]:
            return f"{name!r} has no effect at {done.trigger}"
        if not isinstance(value, _TYPES[name]):
            return f"{name!r} has the wrong type"
    return ""


_TYPES: Mapping[str, type] = {"context": str, "arguments": dict, "result": str, "failed": bool, "stop": str}


def _directives(done: HookRan, output: str) -> dict[str, Any]:
    """Return the JSON object with a hook's decisions; {} if it printed none or an invalid one."""
    return {} if directive_error(done, output) else _printed_object(done, output)


def _printed_object(done: HookRan, output: str) -> dict[str, Any]:
    """Return the JSON object that is the whole output of a successful hook; {} for any other output."""
    if done.exit_code != 0 or not output.lstrip().startswith("{"):
        return {}
    try:
        printed = json.loads(output)
    except (ValueError, RecursionError):
        return {}
    return printed if isinstance(printed, dict) else {}


async def _run(hook: Hook, folder: Path, payload: Mapping[str, Any]) -> HookRan:
    call = payload.get("call")
    call_id = str(call.get("id", "")) if isinstance(call, dict) else ""
    limits = CommandLimits(time_s=hook.timeout_s)
    environment = clean_environment() | {name: os.environ[name] for name in DESKTOP_VARIABLES if name in os.environ}
    environment |= {"PATH": own_path(folder), FOLDER_VARIABLE: str(folder)}
    if hook.root:  # The package must stay as the user trusted it, so Python must not write .pyc files into it.
        environment |= {"PACKAGE_ROOT": str(hook.root)}
    launch = ProcessLaunch(
        with_limits(CommandRequest(hook.command, hook.place, limits)),
        environment,
        hook.place,
        "group",
        stdin_data=json.dumps(payload, ensure_ascii=False).encode("utf-8", "backslashreplace"),
    )
    try:
        result = await (await start_command(launch, limits)).wait_or_kill()
    except Problem as problem:
        return HookRan(
            trigger=hook.on,
            command=hook.command,
            output=Text(str(problem)),
            reason=problem.details.message,
            call_id=call_id,
            blocked=_can_refuse(hook),
        )
    # If a hook that may refuse was killed, for example at its time limit, that counts as a refusal.
    refused = _can_refuse(hook) and (result.exit_code == REFUSAL_EXIT_CODE or bool(result.killed_because))
    return HookRan(
        trigger=hook.on,
        command=hook.command,
        output=Text(result.output[:MAX_OUTPUT_CHARS]),
        exit_code=None if result.killed_because else result.exit_code,
        reason=result.killed_because,
        call_id=call_id,
        blocked=refused,
    )


def _can_refuse(hook: Hook) -> bool:
    """Return whether a hook can refuse at this moment."""
    return hook.on in {"before_call", "before_end"}
