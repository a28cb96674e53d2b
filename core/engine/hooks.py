"""A person's own commands at named moments of a run, from `hooks.toml` in the data folder.

They run in the person's own rights, outside the sandbox: who writes that file has said so. None costs one look at
whether there is a file.
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
from core.workspace.launch import Asked, Launch, Limits, clean_environment, limited
from core.workspace.process import begin

Moment = Literal["run start", "run end", "before call", "after call", "question", "end"]
MOMENTS: tuple[Moment, ...] = get_args(Moment)
FILE = "hooks.toml"
LARGEST = 64 << 10
LONGEST_S, USUAL_S = 600.0, 10.0
REFUSES = 2  # the exit code that says no
SHOWN = 20_000
DESKTOP = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")


@dataclass(frozen=True, slots=True)
class Hook:
    """A command and when it is run; `tools` are names or patterns, for moments of a call."""

    on: Moment
    command: str
    tools: tuple[str, ...] = ()
    time_s: float = USUAL_S

    def fits(self, moment: Moment, tool: str) -> bool:
        return self.on == moment and (not self.tools or any(fnmatchcase(tool, one) for one in self.tools))


def hooks(data: Path) -> tuple[Hook, ...]:
    """All there are. A file that cannot be read is a problem, not nothing: one of them may be there to refuse."""
    path = data / FILE
    try:
        if not path.exists():
            return ()
        if path.stat().st_size > LARGEST:
            raise ValueError(f"it is larger than {LARGEST:,} bytes")
        plain = tomllib.loads(path.read_text("utf-8"))
        if unknown := sorted(set(plain) - {"hook"}):
            raise ValueError(f"there is no {unknown[0]!r}, only [[hook]]")
        found = plain.get("hook", [])
        if not isinstance(found, list):
            raise ValueError("hooks are written as [[hook]]")
        return tuple(_read(one) for one in found)
    except (OSError, ValueError) as error:  # also what is no TOML and no UTF-8
        raise Problem("Your hooks cannot be read, so nothing is run.", f"{error}.", f"Correct {path}.") from error


def _read(plain: Any) -> Hook:
    if not isinstance(plain, dict):
        raise ValueError("hooks are written as [[hook]]")
    if unknown := sorted(set(plain) - {"on", "command", "tools", "time_s"}):
        raise ValueError(f"a hook has no {unknown[0]!r}")
    on = next((moment for moment in MOMENTS if moment == plain.get("on")), None)
    command = plain.get("command")
    tools, time_s = plain.get("tools", []), plain.get("time_s", USUAL_S)
    if on is None:
        raise ValueError(f"on: {plain.get('on')!r} is none of {', '.join(MOMENTS)}")
    if not isinstance(command, str) or not command.strip():
        raise ValueError("a hook needs a command")
    if not isinstance(tools, list) or not all(isinstance(one, str) for one in tools):
        raise ValueError("tools: a list of names")
    if isinstance(time_s, bool) or not isinstance(time_s, int | float) or not 0 < time_s <= LONGEST_S:
        raise ValueError(f"time_s: seconds, at most {LONGEST_S:g}")
    return Hook(on, command, tuple(tools), float(time_s))


async def run_hooks(
    known: Sequence[Hook], moment: Moment, tool: str, folder: Path, said: Mapping[str, Any]
) -> list[HookRan]:
    """Those of this moment, one after the other; the first that refuses is the last that runs."""
    ran: list[HookRan] = []
    for hook in known:
        if hook.fits(moment, tool):
            ran.append(await _run(hook, folder, {"moment": moment, "folder": str(folder), **said}))
            if ran[-1].refused:
                break
    return ran


async def _run(hook: Hook, folder: Path, said: Mapping[str, Any]) -> HookRan:
    call = str(said.get("call", {}).get("id", "")) if isinstance(said.get("call"), dict) else ""
    limits = Limits(time_s=hook.time_s)
    environment = clean_environment() | {name: os.environ[name] for name in DESKTOP if name in os.environ}
    launch = Launch(
        limited(Asked(hook.command, folder, limits)),
        environment,
        folder,
        "group",
        given=json.dumps(said, ensure_ascii=False).encode("utf-8", "backslashreplace"),
    )
    try:
        done = await (await begin(launch, limits)).until_end()
    except Problem as problem:
        return HookRan(hook.on, hook.command, Text(str(problem)), None, problem.trouble.what, call, _may(hook))
    # A hook that was to guard and was cut off has not agreed.
    refused = _may(hook) and (done.exit_code == REFUSES or bool(done.ended))
    code = None if done.ended else done.exit_code
    return HookRan(hook.on, hook.command, Text(done.output[:SHOWN]), code, done.ended, call, refused)


def _may(hook: Hook) -> bool:
    """Whether there is something that can still be refused."""
    return hook.on in {"before call", "end"}


def refusal(ran: Sequence[HookRan]) -> str:
    """What the model is told of a refusal; empty where nobody refused."""
    last = ran[-1] if ran else None
    if last is None or not last.refused:
        return ""
    return last.output.head.strip() or last.why or "no reason was given"
