"""Imports the events of OpenHands version 0.

A message is an action:

    {"id": 1, "source": "user", "action": "message", "args": {"content": "List the files."}}

Other actions of the agent, such as this command, are tool calls without an ID of their own:

    {"id": 2, "source": "agent", "action": "run", "args": {"command": "ls", "thought": "I look."}}

Its observation is the result:

    {"id": 3, "source": "agent", "observation": "run", "cause": 2, "content": "a.txt",
     "extras": {"metadata": {"exit_code": 0}}}

It refers to the ID of the action by `cause`.
"""

from dataclasses import dataclass, field
from typing import Any

from core.exchange.importers.foreign_call import ForeignCall
from core.exchange.importers.message_parts import arguments_json, dict_or_empty, first_text
from core.exchange.importers.record import parse_exit_code
from core.exchange.importers.session_builder import SessionBuilder

ACTIONS_WITHOUT_CALL = frozenset({"message", "system", "recall", "change_agent_state", "null", ""})


@dataclass(slots=True)
class _CallIds:
    """The IDs given to the tool calls of a conversation.

    `unnamed` are those of actions that have no ID in the conversation and no observation yet, oldest first.
    """

    ids: set[str] = field(default_factory=set)
    unnamed: list[str] = field(default_factory=list)

    def add(self, action: dict[str, Any]) -> str:
        """Return a new ID for the call of an action."""
        if action.get("id") is None:
            call_id = f"unnamed {len(self.ids)}"
            self.unnamed.append(call_id)
        else:
            call_id = f"e{action['id']}"
        self.ids.add(call_id)
        return call_id

    def take(self, observation: dict[str, Any]) -> str | None:
        """Return the ID of the call that an observation answers; None if there is no such call.

        An observation without a cause answers the oldest unnamed call, which is then no longer open.
        """
        cause = observation.get("cause")
        if cause is None:
            return self.unnamed.pop(0) if self.unnamed else None
        call_id = f"e{cause}"
        return call_id if call_id in self.ids else None


def is_from_user(event: Any) -> bool:
    return dict_or_empty(event).get("source") == "user"


def user_message(text: str) -> dict[str, Any]:
    """Return the event for a message of the user."""
    return {"source": "user", "action": "message", "args": {"content": text}}


def add_event_0(event: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    """Add an event to a session. Return whether it was understood."""
    call_ids = builder.state(_CallIds)  # one object for each conversation
    if event.get("action") == "message":
        _add_message(event, at, builder)
    elif _is_agent_action(event) and event["action"] == "finish":
        builder.add_reply(_final_text(event), at=at)
    elif _is_agent_action(event):
        arguments = dict_or_empty(event.get("args"))
        call = ForeignCall(call_ids.add(event), event["action"], arguments_json(arguments))
        builder.add_reply(first_text(arguments, "thought"), at=at, calls=[call])
    elif isinstance(event.get("observation"), str) and (call_id := call_ids.take(event)):
        _add_observation(event, call_id, at, builder)
    else:
        return False
    return True


def _is_agent_action(event: dict[str, Any]) -> bool:
    """Return whether an event is a tool call or the end of the agent's work."""
    action = event.get("action")
    return isinstance(action, str) and action not in ACTIONS_WITHOUT_CALL and event.get("source") == "agent"


def _add_message(event: dict[str, Any], at: int, builder: SessionBuilder) -> None:
    text = _message_text(event)
    if is_from_user(event):
        builder.add_user_message(text, at)
    else:
        builder.add_reply(text, at=at)


def _add_observation(event: dict[str, Any], call_id: str, at: int, builder: SessionBuilder) -> None:
    exit_code = _exit_code(event)
    failed = event["observation"] == "error" or bool(exit_code)
    builder.add_result(call_id, first_text(event, "content"), at=at, failed=failed, exit_code=exit_code)


def _message_text(event: dict[str, Any]) -> str:
    """Return `args.content` of a message; some versions have only `message`."""
    return first_text(dict_or_empty(event.get("args")), "content") or first_text(event, "message")


def _final_text(event: dict[str, Any]) -> str:
    """Return what the agent says when it finishes: `args.final_thought`, else its last thought or message."""
    return first_text(dict_or_empty(event.get("args")), "final_thought", "thought") or first_text(event, "message")


def _exit_code(event: dict[str, Any]) -> int | None:
    """Return the exit code of a command, which is in `extras.metadata` or, in early versions, in `extras`."""
    extras = dict_or_empty(event.get("extras"))
    metadata = extras.get("metadata") or {}
    return parse_exit_code(metadata.get("exit_code", extras.get("exit_code")))
