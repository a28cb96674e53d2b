"""Ids of sessions, calls, questions and memories: unique, and short enough to type."""

import re
import secrets

ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # letters and digits without lookalikes such as 1 and l
MAX_ID_CHARS = 64  # longest id of an imported session
_BYTE_TO_LETTER = "".join(ALPHABET[byte % len(ALPHABET)] for byte in range(256)).encode()


def session_id() -> str:
    """Return a new id of eight characters (40 bits); users type it on the command line."""
    return "".join(secrets.choice(ALPHABET) for _ in range(8))


def is_session_id(text: str) -> bool:
    """Return whether a text can be the id of an imported session: safe on a command line and in a path."""
    return re.fullmatch(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{MAX_ID_CHARS - 1}}}", text) is not None


def call_id(turn: int, index: int) -> str:
    """Return the id of the tool call at `index` in a turn. Unlike ids from models, it is unique in the session."""
    return f"r{turn}c{index}"


def question_id(session: str, call: str) -> str:
    """Return the id of the question that a tool call asks. It is derived, so that it is the same after a crash."""
    return f"{session}-{call}"


def permission_id(session: str, call: str, changes: int = 0) -> str:
    """Return the id of the permission request for a tool call. It is derived, so that it is the same after a crash.

    `changes` counts how often the user has edited the call, because an edited call may need another request.
    """
    return f"{session}-{call}-may{changes or ''}"


def run_id(session: str, number: int) -> str:
    """Return the id by which permission rules of scope *run* refer to a run of a session."""
    return f"{session}/{number}"


def memory_id() -> str:
    """Return a new memory id, which is unique among millions although the user needs to type only its beginning."""
    return secrets.token_bytes(12).translate(_BYTE_TO_LETTER).decode()
