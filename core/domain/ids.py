"""Ids of sessions, calls, questions and memories: unique, and short enough to type."""

import re
import secrets

ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # no characters that look alike
MAX_ID_CHARS = 64  # of an imported session
_BYTE_TO_LETTER = "".join(ALPHABET[byte % len(ALPHABET)] for byte in range(256)).encode()


def session_id() -> str:
    """Return a new id of eight characters (40 bits); users type it on the command line."""
    return "".join(secrets.choice(ALPHABET) for _ in range(8))


def is_session_id(text: str) -> bool:
    """Return whether a text may be the id of an imported session: it must be safe on a command line and in a path."""
    return re.fullmatch(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{MAX_ID_CHARS - 1}}}", text) is not None


def call_id(turn: int, index: int) -> str:
    """Return the id of the tool call at `index` in a turn. Unlike ids that models send, it is unique in the session."""
    return f"r{turn}c{index}"


def question_id(session: str, call: str) -> str:
    """Return the id of the question that a call asks. It is not random, so that it is the same after a crash."""
    return f"{session}-{call}"


def permission_id(session: str, call: str, changes: int = 0) -> str:
    """Return the id of the permission request for a call. It is not random, so that it is the same after a crash.

    `changes` is how often the user has changed the call: what they changed may need another request.
    """
    return f"{session}-{call}-may{changes or ''}"


def run_id(session: str, number: int) -> str:
    """Return the id by which rules of scope *run* refer to a run of a session."""
    return f"{session}/{number}"


def memory_id() -> str:
    """Return a new id of a memory: long enough to stay unique among millions, while a prefix is enough to type."""
    return secrets.token_bytes(12).translate(_BYTE_TO_LETTER).decode()
