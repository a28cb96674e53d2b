"""Messages for the errors of MCP connections."""

import socket
import ssl
from collections.abc import Iterator

SIGN_IN_FAILED = "The sign-in failed"
HTTP_ERRORS = {
    401: "It requires a sign-in or a key, or the key is wrong (401).",
    403: "It denied access with this key (403).",
    404: "There is nothing at this URL (404).",
    405: "There is no MCP server at this URL (405).",
    429: "It is rate limiting requests (429).",
}


def describe_error(error: BaseException, status: int = 0) -> str:
    """Return a one-line message for an exception or exception group. `status` is the last HTTP error status, or 0."""
    roots = list(_exception_chain(error))
    for root in roots:
        if isinstance(root, FileNotFoundError):
            return f"The program {root.filename} was not found." if root.filename else "The program was not found."
        if isinstance(root, PermissionError):
            return f"{root.filename or 'It'} cannot be run: permission denied."
        if isinstance(root, ssl.SSLCertVerificationError):
            return f"Its certificate is not valid: {root.verify_message}."
        if isinstance(root, ssl.SSLError):
            return f"It does not support TLS ({root.reason or root})."
        if isinstance(root, ConnectionRefusedError):
            return "Nothing is listening at its URL."
        if isinstance(root, socket.gaierror):
            return "The host name cannot be resolved, or the network is down."
        if type(root).__name__.startswith("OAuth"):  # Compare names to avoid importing the `mcp` library.
            return f"{SIGN_IN_FAILED}: {str(root).splitlines()[0].rstrip('.')}."
    if status:
        return HTTP_ERRORS.get(status, f"It returned status {status}.")
    last = next((root for root in roots if not isinstance(root, BaseExceptionGroup)), error)
    text = _protocol_violation(last) or str(getattr(last, "message", "") or last) or type(last).__name__
    return text.splitlines()[0].rstrip(".") + "."


def _protocol_violation(error: BaseException) -> str:
    """Return which part of a response violates the MCP protocol; "" for other errors."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return ""
    first = error.errors(include_url=False)[0]
    location = ".".join(map(str, first["loc"]))
    return f"It violates the protocol at {location or 'its start'}: {first['msg']}"


def _exception_chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception, the exceptions in it if it is a group, and the causes of all of them."""
    yield error
    if isinstance(error, BaseExceptionGroup):
        for member in error.exceptions:
            yield from _exception_chain(member)
    for cause in (error.__cause__, error.__context__):
        if cause is not None:
            yield from _exception_chain(cause)
            break
