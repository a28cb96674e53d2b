"""One language for everything that goes wrong between us and a model server.

The kinds: unreachable, refused, tls, moved, not_a_server, key, forbidden, credit, model, too_long, filtered,
no_tools, rate_limited, overloaded, server, rejected, timeout, cut, garbled,
too_much; and empty, which the engine finds.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from core.models.mask import Mask
from core.models.model import Fault
from core.models.plain import loaded

LONGEST_WHY = 600
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
            r"^4(?:00|13)\s*(?:status code)?\s*\(no body\)",
        )
    ),
    re.IGNORECASE,
)
NEVER_TOO_LONG = re.compile(
    r"rate limit|too many requests|^(Throttling error|Service unavailable):|string_above_max_length|invalid 'user'",
    re.IGNORECASE,
)
MONEY = re.compile(
    r"insufficient_quota|credit_balance|credit balance|billing_error|billing_hard_limit|spend_limit|spend limit"
    r"|insufficient (credits?|balance|funds)|payment required",
    re.IGNORECASE,
)
KEY = re.compile(
    r"authentication_error|invalid_api_key|(invalid|incorrect|wrong|missing|malformed|no) (x-)?api[ -_]?key"
    r"|api[ -_]?key (is )?(invalid|not valid|missing)|no connected db|unauthorized",
    re.IGNORECASE,
)
MODEL = re.compile(
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
OVERLOADED = re.compile(r"overloaded|at capacity|server is busy|try again later|loading model", re.IGNORECASE)
NOWHERE = re.compile(r"^\W*(\w+ )?not found\W*$|\b(url|path|route|endpoint|page|resource)\b", re.IGNORECASE)
EVENT = re.compile(r"(?:event:.*\n)?data: ?(.*)")  # LiteLLM tells errors as the stream that was asked for
HTML = re.compile(rb"\s*<(!doctype|html|head|body|\?xml)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Place:
    """Whom a fault is about, and what must not be repeated from it."""

    origin: str
    model: str
    mask: Mask

    def clean(self, text: str) -> str:
        """Words of a server as they may be shown: no key, no control characters, not endless."""
        text = self.mask.hide_parts(self.mask.hide(text)[: LONGEST_WHY * 4])
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return text if len(text) <= LONGEST_WHY else text[:LONGEST_WHY] + " …"


class Said(NamedTuple):
    """What an error body says: for people, and for programs; `formed` is one in the form that model servers use."""

    message: str
    codes: str
    formed: bool = False

    @property
    def all(self) -> str:
        return f"{self.message} {self.codes}"


class Kind(NamedTuple):
    """`what` may name {origin} and {model}."""

    what: str
    do: str
    again: bool = False


KINDS = {
    "too_long": Kind(
        "The conversation is too long for {model}.", "Shorten it, or choose a model with a larger window."
    ),
    "credit": Kind("{origin} gives no more credit.", "Top up or raise the limit there, or choose another model."),
    "key": Kind("{origin} does not accept the key.", "Check the key of this provider in the settings."),
    "forbidden": Kind("{origin} does not allow this.", "Check what the key may do there, or choose another model."),
    "model": Kind("{origin} has no model {model}.", "Choose one of the models that it lists."),
    "no_tools": Kind(
        "{model} takes no tool calls at {origin}.", "Choose another model, or start its server with them."
    ),
    "filtered": Kind("{origin} withheld the reply.", "Say it in other words, or choose another model."),
    "rate_limited": Kind("{origin} takes no more requests for now.", "Wait, or choose another model.", again=True),
    "overloaded": Kind("{origin} is overloaded.", "Try again later, or choose another model.", again=True),
    "server": Kind("{origin} failed.", "Try again later.", again=True),
    "rejected": Kind("{origin} did not accept the request.", "Choose another model, or report this."),
    "not_a_server": Kind("{origin} did not answer as a model server.", "Check the address; many end in /v1."),
    "moved": Kind(
        "{origin} sends requests elsewhere.", "If you trust that place, make it the address of this provider."
    ),
    "refused": Kind("Nothing listens at {origin}.", "Start the model server, or correct its address.", again=True),
    "unreachable": Kind("{origin} cannot be reached.", "Check the address and the network.", again=True),
    "tls": Kind("The connection to {origin} is not safe.", "Correct the address, or the certificate of the server."),
    "timeout": Kind("{origin} went silent.", "Try again, or choose another model.", again=True),
    "cut": Kind("The reply was cut.", "Try again, or choose another model.", again=True),
    "garbled": Kind("{origin} sent something that cannot be read.", "Try again, or choose another model.", again=True),
    "too_much": Kind("{origin} sent more than a reply can be.", "Choose another model or server."),
}


def fault(kind: str, place: Place, why: str = "", after_s: float = 0.0, again: bool | None = None) -> Fault:
    """The fault of this kind at this place."""
    told = KINDS[kind]
    what = told.what.format(origin=place.origin, model=place.clean(place.model) or "this model")
    may = told.again if again is None else again
    return Fault(what, place.clean(why), told.do, again=may, after_s=after_s, kind=kind)


def too_much(why: str) -> Fault:
    """More than anybody wants to keep."""
    return Fault("The server sent more than a reply can be.", why, KINDS["too_much"].do, again=False, kind="too_much")


def refused(place: Place, status: int, headers: Mapping[str, str], body: bytes) -> Fault:
    """The fault that an answer with an error status tells."""
    if HTML.match(body) or "html" in headers.get("content-type", ""):
        kind = "server" if status >= 500 else "not_a_server"
        return fault(kind, place, f"It answered {status} with a web page.")
    text = body.decode("utf-8", "replace")
    if event := EVENT.match(text):
        text = event[1]
    said = said_in(loaded(text), text)
    kind = kind_of(said, status)
    after = retry_after(headers)
    again = KINDS[kind].again or status in (408, 409)
    if kind not in ("credit", "key", "forbidden") and headers.get("x-should-retry") in ("true", "false"):
        again = headers["x-should-retry"] == "true"
    waits = f" It asks to wait {spoken(after)}." if after else ""
    return fault(kind, place, f"It answered {status}{': ' if said.message else '.'}{said.message}{waits}", after, again)


def told(place: Place, error: Any) -> Fault:
    """The fault that a server tells in the middle of its stream."""
    said = said_in(error, str(error))
    status = int(said.codes.split()[-1]) if re.search(r"(^| )[45]\d\d$", said.codes) else 0
    return fault(kind_of(said, status or 500), place, said.message)


def kind_of(said: Said, status: int) -> str:
    """One word for what happened; what the body says goes before what the status says."""
    if status == 413 or is_too_long(said, status):
        return "too_long"
    if MONEY.search(said.all):
        return "credit"
    if status == 429 or "rate_limit" in said.codes:
        return "rate_limited"
    for kind, pattern in (("key", KEY), ("filtered", FILTERED), ("no_tools", NO_TOOLS), ("model", MODEL)):
        if status != 529 and pattern.search(said.all):
            return kind
    if status in (503, 529) or (status >= 500 and OVERLOADED.search(said.all)):
        return "overloaded"
    if status == 404 and said.formed and said.message and not NOWHERE.search(said.message):
        return "rejected"
    by_status = {401: "key", 402: "credit", 403: "forbidden", 404: "not_a_server", 405: "not_a_server"}
    return by_status.get(status) or ("server" if status >= 500 or status in (408, 409) else "rejected")


def is_too_long(said: Said, status: int = 400) -> bool:
    """Whether the words are those of an overflow; `(no body)` is how an empty 400 is told."""
    text = said.all.strip() or f"{status} (no body)"
    return bool(TOO_LONG.search(text)) and not NEVER_TOO_LONG.search(text)


def said_in(plain: Any, text: str = "") -> Said:
    """What a body says, in any of the shapes that servers use."""
    if isinstance(plain, str):
        return Said(plain, "")
    if not isinstance(plain, Mapping):
        return Said(text[:LONGEST_WHY], "")
    inner = plain.get("error")
    if isinstance(inner, str):
        return Said(inner, _codes(plain))
    formed = isinstance(inner, Mapping)
    plain = inner if isinstance(inner, Mapping) else plain
    message = plain.get("message") or plain.get("detail") or plain.get("msg") or ""
    if isinstance(message, list):
        parts = [f"{item.get('msg', '')} {item.get('loc', '')}" for item in message if isinstance(item, Mapping)]
        message = "; ".join(parts)
    if not isinstance(message, str):
        message = json.dumps(message)
    return Said(message or ("" if plain else text[:LONGEST_WHY]), _codes(plain), formed)


def retry_after(headers: Mapping[str, str]) -> float:
    """Seconds a server asks to wait, in any of the forms it may say so."""
    if (wait := _number(headers.get("retry-after-ms", ""))) is not None:
        return wait / 1000
    value = headers.get("retry-after", "")
    if (wait := _number(value)) is not None:
        return wait
    try:
        until = parsedate_to_datetime(value)
        now = parsedate_to_datetime(headers["date"]) if "date" in headers else datetime.now(UTC)
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError):
        return 0.0


def spoken(seconds: float) -> str:
    """A length of time as people say it."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else 0.0


def _codes(plain: Mapping[str, Any]) -> str:
    """Every word for programs in an error, the numeric code last."""
    details = plain.get("details")
    words = [
        plain.get("type"),
        details.get("error_code") if isinstance(details, Mapping) else None,
        plain.get("status"),
    ]
    return " ".join(str(word) for word in (*words, plain.get("code")) if isinstance(word, str | int))
