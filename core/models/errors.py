"""Classifies failures of providers into kinds of `ModelError`, with messages for the user.

The kinds are the keys of `ERROR_KINDS`; the engine adds `empty`, for an empty reply. The patterns match messages and
codes that providers and servers are known to send.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from core.models.json_values import parse_json
from core.models.mask import KeyMask
from core.models.model import ModelError

MAX_CAUSE_LENGTH = 600
TOO_LONG = re.compile(
    "|".join(
        (
            r"prompt is too long",
            r"request_too_large",
            r"input is too long for requested model",
            r"exceeds the context window",
            r"input token count.*exceeds the maximum",
            r"maximum prompt length is \d+",
            r"reduce the length of the messages",
            r"maximum context length is \d+ tokens",
            r"exceeds the limit of \d+",
            r"exceeds the available context size",
            r"greater than the context length",
            r"context window exceeds limit",
            r"exceeded model token limit",
            r"too large for model with \d+ maximum context length",
            r"model_context_window_exceeded",
            r"prompt too long; exceeded (?:max )?context length",
            r"context[_ ]length[_ ]exceeded",
            r"exceed_context_size_error",
            r"too many tokens",
            r"token limit exceeded",
            r"exceed context limit",
            r"is longer than the model's context length",
            r"input tokens exceed the configured limit",
            r"current length is .* while limit is",
            r"maximum input length is .* tokens",
            r"the input length exceeds the context length",
            r"ContextWindowExceeded",
            # Text that `is_too_long` creates for a response without a body.
            r"^4(?:00|13)\s*(?:status code)?\s*\(no body\)",
        )
    ),
    re.IGNORECASE,
)
NOT_TOO_LONG = re.compile(
    r"rate limit|too many requests|^(Throttling error|Service unavailable):|string_above_max_length|invalid 'user'",
    re.IGNORECASE,
)
NO_CREDIT = re.compile(
    r"insufficient_quota|credit_balance|credit balance|billing_error|billing_hard_limit|spend_limit|spend limit"
    r"|insufficient (credits?|balance|funds)|payment required",
    re.IGNORECASE,
)
BAD_API_KEY = re.compile(
    r"authentication_error|invalid_api_key|(invalid|incorrect|wrong|missing|malformed|no) (x-)?api[ -_]?key"
    r"|api[ -_]?key (is )?(invalid|not valid|missing)|no connected db|unauthorized",
    re.IGNORECASE,
)
UNKNOWN_MODEL = re.compile(
    r"model_not_found|unknown model|invalid model|model\b.{0,120}?\b(not found|does not exist|not exist"
    r"|is not available|not supported)|no such model|not a valid model",
    re.IGNORECASE | re.DOTALL,
)
NO_TOOLS = re.compile(
    r"does not support (tool|function)s?\b|(tool|function)[ _-]?(use|call|calling|choice)s? (is|are) not supported"
    r"|support tool use|tools? param requires|enable-auto-tool-choice|tools are not supported",
    re.IGNORECASE,
)
FILTERED = re.compile(
    r"content_filter|content_policy|content management policy|bio_policy|misalignment_policy|safety (system|filter)",
    re.I,
)
OVERLOADED = re.compile(r"overloaded|at capacity|server is busy|try again later", re.IGNORECASE)
LOADING = re.compile(r"loading (the )?model|model is (still )?loading", re.IGNORECASE)
UNKNOWN_PATH = re.compile(r"^\W*(\w+ )?not found\W*$|\b(url|path|route|endpoint|page|resource)\b", re.IGNORECASE)
# LiteLLM sends an error as a server-sent event if the request asked for a stream.
SSE_DATA = re.compile(r"(?:event:.*\n)?data: ?(.*)")
HTML = re.compile(rb"\s*<(!doctype|html|head|body|\?xml)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ErrorContext:
    """The provider and the model that an error is about, and the API key to mask in its text."""

    origin: str
    model: str
    mask: KeyMask

    def sanitize(self, text: str) -> str:
        """Return provider text in a form that is safe to show: key masked, control characters removed, truncated."""
        text = self.mask.hide_parts(self.mask.hide(text)[: MAX_CAUSE_LENGTH * 4])
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return text if len(text) <= MAX_CAUSE_LENGTH else text[:MAX_CAUSE_LENGTH] + "…"


class ErrorBody(NamedTuple):
    """A parsed error body.

    Attributes:
        codes: the machine-readable codes, separated by spaces.
        status: the HTTP error status that the body contains; 0 if it contains none.
        has_error_object: whether the body contains an object `error`, as bodies from model providers do.
    """

    message: str
    codes: str = ""
    status: int = 0
    has_error_object: bool = False

    @property
    def full_text(self) -> str:
        return f"{self.message} {self.codes}"


class ErrorKind(NamedTuple):
    """The message and the fix for one kind of error. `message` may contain {origin} and {model}."""

    message: str
    fix: str
    retryable: bool = False


ERROR_KINDS = {
    "too_long": ErrorKind(
        "The conversation is too long for {model}.", "Compact it, or choose a model with a larger context window."
    ),
    "credit": ErrorKind(
        "{origin} has no credit left.", "Add credit or raise the limit there, or choose another model."
    ),
    "key": ErrorKind("{origin} rejected the API key.", "Check the API key of this provider in the settings."),
    "forbidden": ErrorKind(
        "{origin} denied access.", "Check the permissions of the API key there, or choose another model."
    ),
    "model": ErrorKind("{origin} has no model {model}.", "Choose one of the models it lists."),
    "no_tools": ErrorKind(
        "{model} does not support tool calls at {origin}.",
        "Choose another model, or start its server with tool calls enabled.",
    ),
    "filtered": ErrorKind(
        "The content filter of {origin} blocked the reply.", "Rephrase the message, or choose another model."
    ),
    "rate_limited": ErrorKind("{origin} is rate limiting requests.", "Wait, or choose another model.", retryable=True),
    "loading": ErrorKind("{origin} is loading the model.", "Try again when the server is ready.", retryable=True),
    "overloaded": ErrorKind("{origin} is overloaded.", "Try again later, or choose another model.", retryable=True),
    "server": ErrorKind("{origin} returned a server error.", "Try again later.", retryable=True),
    "rejected": ErrorKind("{origin} rejected the request.", "Choose another model, or report this."),
    "not_a_server": ErrorKind("{origin} did not respond like a model API.", "Check the URL; many end in /v1."),
    "moved": ErrorKind(
        "{origin} redirects requests elsewhere.", "If you trust that address, make it the URL of this provider."
    ),
    "refused": ErrorKind("Nothing is listening at {origin}.", "Start the server, or correct its URL.", retryable=True),
    "unreachable": ErrorKind("{origin} cannot be reached.", "Check the URL and the network.", retryable=True),
    "tls": ErrorKind("The connection to {origin} is not secure.", "Correct the URL, or the certificate of the server."),
    "timeout": ErrorKind("{origin} stopped responding.", "Try again, or choose another model.", retryable=True),
    "cut": ErrorKind("The reply was interrupted.", "Try again, or choose another model.", retryable=True),
    "garbled": ErrorKind(
        "{origin} sent a response that cannot be read.", "Try again, or choose another model.", retryable=True
    ),
    "too_much": ErrorKind("{origin} sent too much data.", "Choose another model or provider."),
}


def make_error(
    kind: str, context: ErrorContext, cause: str = "", retry_after_s: float = 0.0, retryable: bool | None = None
) -> ModelError:
    """Return the error for a kind, which is a key of `ERROR_KINDS`.

    Args:
        cause: text from the provider, which is sanitized here.
        retry_after_s: how long the provider asks to wait, in seconds.
        retryable: overrides whether errors of this kind can be retried.
    """
    details = ERROR_KINDS[kind]
    message = details.message.format(origin=context.origin, model=context.sanitize(context.model) or "this model")
    can_retry = details.retryable if retryable is None else retryable
    return ModelError(
        message, context.sanitize(cause), details.fix, retryable=can_retry, retry_after_s=retry_after_s, kind=kind
    )


def too_much(cause: str) -> ModelError:
    """Return the error for a response that exceeds a size limit."""
    return ModelError(
        "The provider sent too much data.", cause, ERROR_KINDS["too_much"].fix, retryable=False, kind="too_much"
    )


def error_from_response(context: ErrorContext, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    """Return the error for a response with an error status."""
    if HTML.match(body) or "html" in headers.get("content-type", ""):
        kind = "server" if status >= 500 else "not_a_server"
        return make_error(kind, context, f"It returned status {status} with a web page.")
    text = body.decode("utf-8", "replace")
    if event := SSE_DATA.match(text):
        text = event[1]
    parsed = parse_error_body(parse_json(text), text)
    kind = classify_error(parsed, status)
    wait_s = retry_after(headers)
    retryable = ERROR_KINDS[kind].retryable or status in (408, 409)
    if kind not in ("credit", "key", "forbidden") and headers.get("x-should-retry") in ("true", "false"):
        retryable = headers["x-should-retry"] == "true"
    wait_note = f" It asks to wait {format_duration(wait_s)}." if wait_s else ""
    return make_error(
        kind,
        context,
        f"It returned status {status}{': ' if parsed.message else '.'}{parsed.message}{wait_note}",
        wait_s,
        retryable,
    )


def error_from_event(context: ErrorContext, error: Any) -> ModelError:
    """Return the error for an error event in a stream."""
    parsed = parse_error_body(error, str(error))
    return make_error(classify_error(parsed, parsed.status or 500), context, parsed.message)


def classify_error(body: ErrorBody, status: int) -> str:
    """Return the kind of an error. The body takes precedence over the HTTP status."""
    if status == 413 or is_too_long(body, status):
        return "too_long"
    if NO_CREDIT.search(body.full_text):
        return "credit"
    if status == 429 or "rate_limit" in body.codes:
        return "rate_limited"
    for kind, pattern in (
        ("key", BAD_API_KEY),
        ("filtered", FILTERED),
        ("no_tools", NO_TOOLS),
        ("model", UNKNOWN_MODEL),
    ):
        if status != 529 and pattern.search(body.full_text):  # 529 always means that Anthropic is overloaded
            return kind
    if status >= 500 and LOADING.search(body.full_text):
        return "loading"
    if status in (503, 529) or (status >= 500 and OVERLOADED.search(body.full_text)):
        return "overloaded"
    if status == 404 and body.has_error_object and body.message and not UNKNOWN_PATH.search(body.message):
        return "rejected"
    by_status = {401: "key", 402: "credit", 403: "forbidden", 404: "not_a_server", 405: "not_a_server"}
    return by_status.get(status) or ("server" if status >= 500 or status in (408, 409) else "rejected")


def is_too_long(body: ErrorBody, status: int = 400) -> bool:
    """Return whether an error means that the prompt is too long. Some servers send a 400 without a body for that."""
    text = body.full_text.strip() or f"{status} (no body)"
    return bool(TOO_LONG.search(text)) and not NOT_TOO_LONG.search(text)


def parse_error_body(plain: Any, text: str = "") -> ErrorBody:
    """Parse a decoded error body in any known format; `text` is the message if none is found."""
    if isinstance(plain, str):
        return ErrorBody(plain)
    if not isinstance(plain, Mapping):
        return ErrorBody(text[:MAX_CAUSE_LENGTH])
    inner = plain.get("error")
    if isinstance(inner, str):
        return ErrorBody(inner, _codes(plain))
    has_error_object = isinstance(inner, Mapping)
    plain = inner if isinstance(inner, Mapping) else plain
    message = plain.get("message") or plain.get("detail") or plain.get("msg") or ""
    if isinstance(message, list):
        parts = [f"{item.get('msg', '')} {item.get('loc', '')}" for item in message if isinstance(item, Mapping)]
        message = "; ".join(parts)
    if not isinstance(message, str):
        message = json.dumps(message)
    message = message or ("" if plain else text[:MAX_CAUSE_LENGTH])
    return ErrorBody(message, _codes(plain), _stated_status(plain), has_error_object)


def retry_after(headers: Mapping[str, str]) -> float:
    """Return how many seconds the provider asks to wait, from any form of the Retry-After headers; 0.0 if unset."""
    if (wait := _parse_seconds(headers.get("retry-after-ms", ""))) is not None:
        return wait / 1000
    value = headers.get("retry-after", "")
    if (wait := _parse_seconds(value)) is not None:
        return wait
    try:
        until = parsedate_to_datetime(value)
        now = parsedate_to_datetime(headers["date"]) if "date" in headers else datetime.now(UTC)
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError):
        return 0.0


def format_duration(seconds: float) -> str:
    """Return a duration for display, such as `90 s` or `10 min`."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def _parse_seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else 0.0


def _codes(plain: Mapping[str, Any]) -> str:
    """Return the machine-readable codes in an error, separated by spaces."""
    details = plain.get("details")
    detailed = details.get("error_code") if isinstance(details, Mapping) else None
    codes = (plain.get("type"), detailed, plain.get("status"), plain.get("code"))
    return " ".join(str(code) for code in codes if isinstance(code, str | int))


def _stated_status(plain: Mapping[str, Any]) -> int:
    """Return the HTTP error status in the fields of an error, which may be a string there; 0 if there is none."""
    codes = [str(plain.get(name)) for name in ("code", "status")]
    return next((int(code) for code in codes if re.fullmatch(r"[45]\d\d", code)), 0)
