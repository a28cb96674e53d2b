"""Why there is no tool server, in words."""

import socket
import ssl
from collections.abc import Iterator

REFUSED = {
    401: "It wants a key, or another one (401).",
    403: "It refuses this key (403).",
    404: "Nothing is at this address (404).",
    405: "No tool server is at this address (405).",
    429: "It is asked too often (429).",
}


def words_of(error: BaseException, refused: int = 0) -> str:
    """The first fault of a group, in one line; `refused` is what its server answered last, where that was no yes."""
    roots = list(_roots(error))
    for root in roots:
        if isinstance(root, FileNotFoundError):
            return f"There is no program {root.filename}." if root.filename else "There is no such program."
        if isinstance(root, PermissionError):
            return f"{root.filename or 'It'} may not be run."
        if isinstance(root, ssl.SSLCertVerificationError):
            return f"Its certificate is not valid: {root.verify_message}."
        if isinstance(root, ssl.SSLError):
            return f"It does not speak TLS ({root.reason or root})."
        if isinstance(root, ConnectionRefusedError):
            return "Nothing listens at its address."
        if isinstance(root, socket.gaierror):
            return "No computer has this name, or the network is down."
    if refused:
        return REFUSED.get(refused, f"It answered {refused}.")
    last = next((root for root in roots if not isinstance(root, BaseExceptionGroup)), error)
    text = _unlike(last) or str(getattr(last, "message", "") or last) or type(last).__name__
    return text.splitlines()[0].rstrip(".") + "."


def _unlike(error: BaseException) -> str:
    """Where an answer is not as the protocol has it."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return ""
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"It is not as the protocol has it, at {place or 'its start'}: {first['msg']}"


def _roots(error: BaseException) -> Iterator[BaseException]:
    """It, what is in it, and what led to it."""
    yield error
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _roots(each)
    for cause in (error.__cause__, error.__context__):
        if cause is not None:
            yield from _roots(cause)
            break
