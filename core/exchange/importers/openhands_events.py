"""Imports the events of OpenHands version 1, whose type is in `kind`.

An action is a tool call:

    {"kind": "ActionEvent", "id": "e2", "source": "agent", "llm_response_id": "r1", "tool_name": "terminal",
     "tool_call_id": "x1", "tool_call": {"arguments": "{\\"command\\": \\"ls\\"}"},
     "thought": [{"type": "text", "text": "I look."}]}

Its observation is the result:

    {"kind": "ObservationEvent", "id": "e3", "source": "environment", "tool_call_id": "x1", "action_id": "e2",
     "observation": {"content": [{"type": "text", "text": "a.txt"}], "exit_code": 0}}

It refers to the call by `tool_call_id`, or else to the action by `action_id`.
"""

from typing import Any

from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.message_parts import arguments_json, dict_or_empty, first_text
from core.exchange.importers.record import parse_exit_code
from core.exchange.importers.session_builder import SessionBuilder


def add_event(event: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    """Add an event to a session. Return whether it was understood."""
    match event.get("kind"):
        case "MessageEvent":
            _add_message(event, at, builder)
        case "ActionEvent":
            _add_action(event, at, builder)
        case "ObservationEvent":
            _add_observation(event, at, builder)
        case "AgentErrorEvent":
            builder.add_result(first_text(event, "tool_call_id"), first_text(event, "error"), at=at, failed=True)
        case "UserRejectObservation":
            reason = first_text(event, "rejection_reason") or "refused"
            builder.add_result(_answered_call(event), reason, at=at, failed=True)
        case "Condensation":
            builder.add_compaction("condensed by OpenHands", first_text(event, "summary"), at=at)
        case "PauseEvent" | "InterruptEvent":
            builder.stop_run("paused by the user", at)
        case _:
            return False
    return True


def _add_message(event: dict[str, Any], at: int, builder: SessionBuilder) -> None:
    message = event.get("llm_message") or {}
    text = plain_text(message.get("content"))
    if event.get("source") == "user":
        builder.add_user_message(text, at)
    else:
        builder.add_reply(text, at=at, reasoning=first_text(message, "reasoning_content"))


def _add_action(event: dict[str, Any], at: int, builder: SessionBuilder) -> None:
    call = ForeignCall(
        id=_own_call(event),
        tool=first_text(event, "tool_name") or "tool",
        arguments=_arguments(event),
    )
    builder.add_reply(
        plain_text(event.get("thought")),
        at=at,
        reply_id=first_text(event, "llm_response_id"),
        reasoning=first_text(event, "reasoning_content"),
        calls=[call],
    )


def _add_observation(event: dict[str, Any], at: int, builder: SessionBuilder) -> None:
    observation = dict_or_empty(event.get("observation"))
    exit_code = parse_exit_code(observation.get("exit_code"))
    failed = observation.get("is_error") is True or bool(exit_code)
    text = plain_text(observation.get("content"))
    builder.add_result(_answered_call(event), text, at=at, failed=failed, exit_code=exit_code)


def _own_call(action: dict[str, Any]) -> str:
    """Return the ID of the call of an action. A call that the model gave no ID has the ID of its action."""
    return first_text(action, "tool_call_id", "id")


def _answered_call(observation: dict[str, Any]) -> str:
    """Return the ID of the call that an observation answers, which is the ID of the action if the call has none."""
    return first_text(observation, "tool_call_id", "action_id")


def _arguments(action: dict[str, Any]) -> str:
    """Return the arguments as the model wrote them, or else as OpenHands parsed them."""
    return arguments_json(dict_or_empty(action.get("tool_call")).get("arguments") or action.get("action"))
