"""Names for sessions, calls and questions: short enough to type, never used twice."""

import secrets

ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # nothing that looks like another
_SIGNS = "".join(ALPHABET[byte % len(ALPHABET)] for byte in range(256)).encode()


def session_id() -> str:
    """Eight characters, 40 bits: typed by people, so no long names."""
    return "".join(secrets.choice(ALPHABET) for _ in range(8))


def call_id(round_number: int, place: int) -> str:
    """Ours, not the model's: models repeat theirs, and a call must be named once in its session."""
    return f"r{round_number}c{place}"


def question_id(session: str, call: str) -> str:
    """The same after a crash, because it is made of facts."""
    return f"{session}-{call}"


def consent_id(session: str, call: str) -> str:
    """Of the request whether a call may happen; made of facts as well."""
    return f"{session}-{call}-may"


def run_id(session: str, number: int) -> str:
    """Of a run of a session, as the rules for one run name it."""
    return f"{session}/{number}"


def memory_id() -> str:
    """Of a memory. Its start is enough to type; the whole is long enough that none of a million is like another."""
    return secrets.token_bytes(12).translate(_SIGNS).decode()
