"""The script of a scripted model: replies, calls, delays and faults as JSON, checked when it is read."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.domain.problems import Problem

FAULTS = ("cut", "rate_limited", "server_error", "silence", "too_long")
ONE_FAULT = " or ".join(FAULTS)
MOST = 10**12  # of anything that is counted
THEN = ("end", "loop", "repeat_last")


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    name: str
    arguments: Any = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Line:
    """One reply, or one fault."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    input: int = 0
    output: int = 0
    chunks: int = 1
    delay_s: float = 0.0
    fault: str = ""
    after_chars: int = 0
    seconds: float = 0.0
    retry_after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Script:
    replies: tuple[Line, ...]
    then: str = "end"
    window: int = 128_000
    roles: Mapping[str, tuple[Line, ...]] = field(default_factory=dict)

    def line(self, role: str, turn: int) -> Line:
        """What comes at this turn."""
        lines = self.roles.get(role, (Line(text="ok"),)) if role else self.replies
        if turn < len(lines):
            return lines[turn]
        if role or self.then == "repeat_last":
            return lines[-1] if lines else Line()
        return lines[turn % len(lines)] if self.then == "loop" and lines else Line()


def read_script(text: str) -> Script:
    """Parse a script; what is wrong with it is said with the place."""
    if not text:
        why, do = "It is missing, or its file is empty.", "Name its file: journeyman run TASK --script FILE."
        raise Problem("There is no script for the scripted model to play.", why, do)
    try:
        plain = json.loads(text)
    except ValueError as error:
        raise _wrong(f"{error}.") from error
    except RecursionError as error:
        raise _wrong("It is nested too deeply.") from error
    _expect(isinstance(plain, dict), "the script", 'an object with "replies"')
    _only(plain, {"replies", "then", "window", "roles"}, "the script")
    then = plain.get("then", "end")
    _expect(isinstance(then, str) and then in THEN, "then", " or ".join(THEN))
    roles = plain.get("roles", {})
    _expect(isinstance(roles, dict), "roles", "an object")
    window = plain.get("window", 128_000)
    _expect(
        isinstance(window, int) and not isinstance(window, bool) and 0 < window <= MOST,
        "window",
        f"a whole number from 1 to {MOST:,}",
    )
    read = {name: _lines(lines, f"roles.{name}") for name, lines in roles.items()}
    return Script(_lines(plain.get("replies", []), "replies"), then, window, read)


def _lines(plain: Any, where: str) -> tuple[Line, ...]:
    _expect(isinstance(plain, list), where, "a list")
    return tuple(_line(item, f"{where}[{place}]") for place, item in enumerate(plain))


def _line(plain: Any, where: str) -> Line:
    _expect(isinstance(plain, dict), where, "an object")
    known = {"text", "reasoning", "calls", "usage", "chunks", "delay_s"}
    _only(plain, known | {"fault", "after_chars", "seconds", "retry_after_s"}, where)
    usage = plain.get("usage", {})
    _expect(isinstance(usage, dict), f"{where}.usage", "an object")
    _only(usage, {"input", "output"}, f"{where}.usage")
    fault = plain.get("fault", "")
    _expect(isinstance(fault, str) and (not fault or fault in FAULTS), f"{where}.fault", ONE_FAULT)
    return Line(
        text=_text(plain, "text", where),
        reasoning=_text(plain, "reasoning", where),
        calls=_calls(plain.get("calls", []), f"{where}.calls"),
        input=int(_number(usage, "input", f"{where}.usage")),
        output=int(_number(usage, "output", f"{where}.usage")),
        chunks=max(1, int(_number(plain, "chunks", where))),
        delay_s=_number(plain, "delay_s", where),
        fault=fault,
        after_chars=int(_number(plain, "after_chars", where)),
        seconds=_number(plain, "seconds", where),
        retry_after_s=_number(plain, "retry_after_s", where),
    )


def _calls(plain: Any, where: str) -> tuple[ScriptedCall, ...]:
    _expect(isinstance(plain, list), where, "a list")
    for place, item in enumerate(plain):
        _expect(isinstance(item, dict), f"{where}[{place}]", "an object")
        _only(item, {"name", "arguments"}, f"{where}[{place}]")
        _expect(isinstance(item.get("name"), str), f"{where}[{place}].name", "a text")
    return tuple(ScriptedCall(item["name"], item.get("arguments", {})) for item in plain)


def _text(plain: dict[str, Any], name: str, where: str) -> str:
    value = plain.get(name, "")
    _expect(isinstance(value, str), f"{where}.{name}", "a text")
    return str(value)


def _number(plain: dict[str, Any], name: str, where: str) -> float:
    value = plain.get(name, 0)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= MOST:
        raise _unlike(f"{where}.{name}", f"a number from 0 to {MOST:,}")
    return float(value)


def _only(plain: dict[str, Any], known: set[str], where: str) -> None:
    if strange := plain.keys() - known:
        raise _unlike(where, f"only {', '.join(sorted(known))}, not {', '.join(sorted(strange))}")


def _expect(good: bool, where: str, wanted: str) -> None:
    if not good:
        raise _unlike(where, wanted)


def _unlike(where: str, wanted: str) -> Problem:
    return _wrong(f"At {where}: expected {wanted}.")


def _wrong(why: str) -> Problem:
    return Problem("This script cannot be played.", why, "Correct the script and start again.")
