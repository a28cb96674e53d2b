"""Runs the user's hooks: commands for certain moments of a run, configured in `hooks.toml` in the data folder.

Hooks run with the user's permissions, outside the sandbox, because only the user can write that file.
"""

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, get_args

from core.domain.events import HookRan
from core.domain.problems import Problem
from core.domain.text import Text
from core.store import former_names
from core.workspace.launcher import CommandLimits, CommandRequest, ProcessLaunch, clean_environment, with_limits
from core.workspace.running_command import start_command

HookMoment = Literal["run_start", "run_end", "before_call", "after_call", "question", "before_end"]
HOOK_MOMENTS: tuple[HookMoment, ...] = get_args(HookMoment)
HOOKS_FILE = "hooks.toml"
MAX_FILE_BYTES = 64 << 10
MAX_TIMEOUT_S, DEFAULT_TIMEOUT_S = 600.0, 10.0
REFUSAL_EXIT_CODE = 2  # The exit code with which a hook refuses.
MAX_OUTPUT_CHARS = 20_000
DESKTOP_VARIABLES = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")


@dataclass(frozen=True, slots=True)
class Hook:
    """A command and the moment at which it runs.

    `tools` are tool names or glob patterns that limit hooks for calls; an empty tuple matches every tool.
    """

    on: HookMoment
    command: str
    tools: tuple[str, ...] = ()
    timeout_s: float = DEFAULT_TIMEOUT_S

    def matches(self, moment: HookMoment, tool: str) -> bool:
        return self.on == moment and (not self.tools or any(fnmatchcase(tool, pattern) for pattern in self.tools))


def load_hooks(data: Path) -> tuple[Hook, ...]:
    """Load the hooks.

    If the file cannot be read, raise Problem instead of ignoring it, because a hook may be meant to refuse calls.
    """
    path = data / HOOKS_FILE
    try:
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
        return tuple(_parse(entry) for entry in entries)
    except (OSError, ValueError) as error:  # ValueError includes invalid TOML and invalid UTF-8.
        raise Problem("Your hooks cannot be read, so no run can start.", f"{error}.", f"Correct {path}.") from error


def _parse(entry: Any) -> Hook:
    if not isinstance(entry, dict):
        raise ValueError("hooks are written as [[hook]]")
    if unknown := sorted(set(entry) - {"on", "command", "tools", "time_s"}):
        raise ValueError(f"unknown key {unknown[0]!r} in a hook")
    name = entry.get("on")
    name = former_names.HOOK_MOMENTS.get(name, name) if isinstance(name, str) else name
    on = next((moment for moment in HOOK_MOMENTS if moment == name), None)
    command = entry.get("command")
    tools, time_s = entry.get("tools", []), entry.get("time_s", DEFAULT_TIMEOUT_S)
    if on is None:
        raise ValueError(f"on: {entry.get('on')!r} is not one of {', '.join(HOOK_MOMENTS)}")
    if not isinstance(command, str) or not command.strip():
        raise ValueError("a hook needs a command")
    if not isinstance(tools, list) or not all(isinstance(tool, str) for tool in tools):
        raise ValueError("tools: must be a list of names")
    if isinstance(time_s, bool) or not isinstance(time_s, int | float) or not 0 < time_s <= MAX_TIMEOUT_S:
        raise ValueError(f"time_s: must be a number of seconds, at most {MAX_TIMEOUT_S:g}")
    return Hook(on, command, tuple(tools), float(time_s))


async def run_hooks(
    hooks: Sequence[Hook], moment: HookMoment, tool: str, folder: Path, payload: Mapping[str, Any]
) -> list[HookRan]:
    """Run the hooks of this moment in order until one refuses. Each reads `payload` as JSON from standard input."""
    ran: list[HookRan] = []
    for hook in hooks:
        if hook.matches(moment, tool):
            ran.append(await _run(hook, folder, {"moment": moment, "folder": str(folder), **payload}))
            if ran[-1].blocked:
                break
    return ran


async def _run(hook: Hook, folder: Path, payload: Mapping[str, Any]) -> HookRan:
    call = str(payload.get("call", {}).get("id", "")) if isinstance(payload.get("call"), dict) else ""
    limits = CommandLimits(time_s=hook.timeout_s)
    environment = clean_environment() | {name: os.environ[name] for name in DESKTOP_VARIABLES if name in os.environ}
    launch = ProcessLaunch(
        with_limits(CommandRequest(hook.command, folder, limits)),
        environment,
        folder,
        "group",
        stdin_data=json.dumps(payload, ensure_ascii=False).encode("utf-8", "backslashreplace"),
    )
    try:
        result = await (await start_command(launch, limits)).wait_or_kill()
    except Problem as problem:
        return HookRan(
            hook.on, hook.command, Text(str(problem)), None, problem.details.message, call, _can_refuse(hook)
        )
    # If a hook that may refuse was killed, for example at its time limit, that counts as a refusal.
    refused = _can_refuse(hook) and (result.exit_code == REFUSAL_EXIT_CODE or bool(result.killed_because))
    code = None if result.killed_because else result.exit_code
    return HookRan(
        hook.on, hook.command, Text(result.output[:MAX_OUTPUT_CHARS]), code, result.killed_because, call, refused
    )


def _can_refuse(hook: Hook) -> bool:
    """Return whether a hook can refuse at this moment."""
    return hook.on in {"before_call", "before_end"}


def refusal_reason(ran: Sequence[HookRan]) -> str:
    """Return the reason to give to the model, or an empty string if no hook refused."""
    last = ran[-1] if ran else None
    if last is None or not last.blocked:
        return ""
    return last.output.head.strip() or last.reason or "no reason was given"
