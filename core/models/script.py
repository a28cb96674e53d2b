"""The JSON script of the scripted model: replies, tool calls, delays and errors, validated on parsing."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.domain.problems import Problem

SCRIPTED_ERRORS = ("cut", "rate_limited", "server_error", "silence", "too_long")
ERROR_CHOICES = " or ".join(SCRIPTED_ERRORS)
MAX_NUMBER = 10**12  # largest number allowed in a script
THEN = ("end", "loop", "repeat_last")  # what happens after the last reply of a script


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    name: str
    arguments: Any = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """A scripted reply or error.

    Attributes:
        chunks: the number of deltas into which the text is split.
        delay_s: the total delay, spread over the chunks.
        fault: the error to simulate; "" for none.
        after_chars: the number of characters to send before a `cut`.
        seconds: the duration of a `silence`.
    """

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
class ModelScript:
    """The replies of a script.

    Attributes:
        then: what happens after the last reply: `end`, `loop` or `repeat_last`.
        window: the context window in tokens.
        roles: the replies for other purposes than the agent's turns, by role.
        answers: values of placeholders, by the beginning of the user's last answer and by name: `{{name}}` in a reply
            is replaced by the value. Those under "" apply to answers that are not listed.
    """

    replies: tuple[ScriptedReply, ...]
    then: str = "end"
    window: int = 128_000
    roles: Mapping[str, tuple[ScriptedReply, ...]] = field(default_factory=dict)
    answers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def reply_at(self, role: str, turn: int) -> ScriptedReply:
        """Return the reply for a turn, counted from 0. Each role has its own replies, of which the last one repeats."""
        lines = self.roles.get(role, (ScriptedReply(text="ok"),)) if role else self.replies
        if turn < len(lines):
            return lines[turn]
        if role or self.then == "repeat_last":
            return lines[-1] if lines else ScriptedReply()
        return lines[turn % len(lines)] if self.then == "loop" and lines else ScriptedReply()


def parse_script(text: str) -> ModelScript:
    """Parse a script; raise `Problem` with the location of the first error."""
    if not text:
        cause, fix = "None was given, or the file is empty.", "Pass its file: journeyman run TASK --script FILE."
        raise Problem("There is no script for the scripted model.", cause, fix)
    try:
        plain = json.loads(text)
    except ValueError as error:
        raise _invalid_script(f"{error}.") from error
    except RecursionError as error:
        raise _invalid_script("It is nested too deeply.") from error
    _expect(isinstance(plain, dict), "the script", 'an object with "replies"')
    _check_keys(plain, {"replies", "then", "window", "roles", "answers"}, "the script")
    then = plain.get("then", "end")
    _expect(isinstance(then, str) and then in THEN, "then", " or ".join(THEN))
    roles = plain.get("roles", {})
    _expect(isinstance(roles, dict), "roles", "an object")
    window = plain.get("window", 128_000)
    _expect(
        isinstance(window, int) and not isinstance(window, bool) and 0 < window <= MAX_NUMBER,
        "window",
        f"a whole number from 1 to {MAX_NUMBER:,}",
    )
    role_replies = {name: _replies(lines, f"roles.{name}") for name, lines in roles.items()}
    answers = _answers(plain.get("answers", {}))
    return ModelScript(_replies(plain.get("replies", []), "replies"), then, window, role_replies, answers)


def _answers(plain: Any) -> dict[str, dict[str, str]]:
    _expect(isinstance(plain, dict), "answers", "an object")
    for answer, texts in plain.items():
        _expect(isinstance(texts, dict), f"answers.{answer}", "an object")
    return {
        answer: {name: _text(texts, name, f"answers.{answer}") for name in texts} for answer, texts in plain.items()
    }


def _replies(plain: Any, path: str) -> tuple[ScriptedReply, ...]:
    _expect(isinstance(plain, list), path, "a list")
    return tuple(_reply(item, f"{path}[{index}]") for index, item in enumerate(plain))


def _reply(plain: Any, path: str) -> ScriptedReply:
    _expect(isinstance(plain, dict), path, "an object")
    fields = {"text", "reasoning", "calls", "usage", "chunks", "delay_s"}
    _check_keys(plain, fields | {"fault", "after_chars", "seconds", "retry_after_s"}, path)
    usage = plain.get("usage", {})
    _expect(isinstance(usage, dict), f"{path}.usage", "an object")
    _check_keys(usage, {"input", "output"}, f"{path}.usage")
    fault = plain.get("fault", "")
    _expect(isinstance(fault, str) and (not fault or fault in SCRIPTED_ERRORS), f"{path}.fault", ERROR_CHOICES)
    return ScriptedReply(
        text=_text(plain, "text", path),
        reasoning=_text(plain, "reasoning", path),
        calls=_calls(plain.get("calls", []), f"{path}.calls"),
        input=int(_number(usage, "input", f"{path}.usage")),
        output=int(_number(usage, "output", f"{path}.usage")),
        chunks=max(1, int(_number(plain, "chunks", path))),
        delay_s=_number(plain, "delay_s", path),
        fault=fault,
        after_chars=int(_number(plain, "after_chars", path)),
        seconds=_number(plain, "seconds", path),
        retry_after_s=_number(plain, "retry_after_s", path),
    )


def _calls(plain: Any, path: str) -> tuple[ScriptedCall, ...]:
    _expect(isinstance(plain, list), path, "a list")
    for index, item in enumerate(plain):
        _expect(isinstance(item, dict), f"{path}[{index}]", "an object")
        _check_keys(item, {"name", "arguments"}, f"{path}[{index}]")
        _expect(isinstance(item.get("name"), str), f"{path}[{index}].name", "a string")
    return tuple(ScriptedCall(item["name"], item.get("arguments", {})) for item in plain)


def _text(plain: dict[str, Any], name: str, path: str) -> str:
    value = plain.get(name, "")
    _expect(isinstance(value, str), f"{path}.{name}", "a string")
    return str(value)


def _number(plain: dict[str, Any], name: str, path: str) -> float:
    value = plain.get(name, 0)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= MAX_NUMBER:
        raise _unexpected(f"{path}.{name}", f"a number from 0 to {MAX_NUMBER:,}")
    return float(value)


def _check_keys(plain: dict[str, Any], allowed: set[str], path: str) -> None:
    if unknown := plain.keys() - allowed:
        raise _unexpected(path, f"only {', '.join(sorted(allowed))}, not {', '.join(sorted(unknown))}")


def _expect(valid: bool, path: str, expected: str) -> None:
    if not valid:
        raise _unexpected(path, expected)


def _unexpected(path: str, expected: str) -> Problem:
    return _invalid_script(f"At {path}: expected {expected}.")


def _invalid_script(cause: str) -> Problem:
    return Problem("This script is not valid.", cause, "Correct the script and try again.")
