"""The forms of tool servers as questions, and what a person answered as what the server wants to be sent."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

from core.domain.question import Answer, Option, Part, Question, Said
from core.domain.visible import visible

FIELDS, OPTIONS = 20, 100
MESSAGE, TITLE = 4_000, 300
YES, NO = "Yes", "No"
OPEN = "Open the page"
EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
CARE = "Your answer goes to it and is kept in the journal: give no password and no key."
Value = str | int | float | bool | list[str]


@dataclass(frozen=True, slots=True)
class Field:
    """One line of a form. `values` are what its options stand for."""

    name: str
    title: str
    kind: str
    schema: Mapping[str, Any]
    needed: bool
    values: Mapping[str, Any]
    hints: str = ""

    def part(self) -> Part:
        """As a question."""
        options = tuple(Option(label) for label in self.values)
        hints = f" ({self.hints})" if self.hints else ""
        several = self.kind == "array"
        return Part(f"{self.title}{hints}", options, not options, several, optional=not self.needed)

    def value(self, said: Said) -> Value | None:
        """What is sent; None for nothing. Raises ValueError with the reason."""
        given = [label for label in said.options if label in self.values] or _chosen(self.values, said.text)
        if self.kind == "array":
            return _counted(self.schema, [str(self.values[label]) for label in given]) if given else None
        if self.values:
            if not given and said.text:
                raise ValueError(f"{said.text[:40]!r} is none of its choices")
            return self.values[given[0]] if given else None
        text = said.text.strip()
        if not text:
            return None
        return _number(self.kind, self.schema, text) if self.kind in ("integer", "number") else _text(self.schema, text)


@dataclass(frozen=True, slots=True)
class Form:
    """What a server wants to know."""

    server: str
    message: str
    fields: tuple[Field, ...]

    def question(self, wrong: str = "") -> Question:
        """As the person is asked; `wrong` says what was the matter with the last answer."""
        one = f"{self.fields[0].part().text}. " if len(self.fields) == 1 else ""
        again = f"{wrong} " if wrong else ""
        why = f"{again}{one}The tool server {self.server} asks this, not the agent. {CARE}"
        parts = tuple(field.part() for field in self.fields)
        if not parts:
            return Question("", self.message, why, (Option(YES),), free_text=False, server=self.server)
        return Question("", self.message, why, parts=parts, free_text=parts[0].free_text, server=self.server)

    def content(self, answer: Answer) -> tuple[dict[str, Any], str]:
        """What is sent, and what is wrong with it."""
        content: dict[str, Any] = {}
        for field, said in zip(self.fields, _said(answer, len(self.fields)), strict=True):
            try:
                value = field.value(said)
            except ValueError as error:
                return {}, f"{field.title}: {error}."
            if value is None and "default" in field.schema:
                value = field.schema["default"]
            if value is None and field.needed:
                return {}, f"{field.title}: it is needed."
            if value is not None:
                content[field.name] = value
        return content, ""


def form_of(server: str, message: str, schema: Mapping[str, Any]) -> Form | str:
    """The form, or why it cannot be shown."""
    properties, needed = schema.get("properties"), schema.get("required") or ()
    if not isinstance(properties, dict) or len(properties) > FIELDS or not isinstance(needed, list | tuple):
        return f"a form has an object of at most {FIELDS} properties"
    fields: list[Field] = []
    for name, about in properties.items():
        field = _field(name, about, name in needed) if isinstance(about, dict) else None
        if field is None:
            return f"the property {str(name)[:60]} is of no kind that can be asked for"
        fields.append(field)
    return Form(server, _line(message, MESSAGE) or "What do you say?", tuple(fields))


def page_question(server: str, message: str, url: str, options: Sequence[str] = (OPEN,)) -> Question:
    """May a page be opened, or another thing that has no form? `url` is shown whole, its host in plain letters."""
    if not url:
        return Question("", message, f"The tool server {server} asks this, not the agent.", tuple(map(Option, options)),
                        free_text=False, server=server)  # fmt: skip
    text = f"{server} asks you to open a page of {urlsplit(plain(url)).hostname}"
    asks = f"The tool server {server} asks this, not the agent. It opens in your browser, and only if you say so."
    why = "\n".join(filter(None, (plain(url), _line(message, MESSAGE), asks)))
    return Question("", text, why, tuple(map(Option, options)), free_text=False, server=server, url=plain(url))


def unfit(url: str) -> str:
    """Why a page is not even asked about; empty where nothing is wrong."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and bool(plain(url))
    except ValueError:
        good = False
    if not good or len(url) > MESSAGE or visible(url) != url or re.search(r"[\s\\]", url):
        return "it is no http or https address"
    return "it has a name before its host" if "@" in parts.netloc else ""


def plain(url: str) -> str:
    """The address with its host in plain letters: others look like them."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host.isascii():
        return url
    port = f":{parts.port}" if parts.port else ""
    return parts._replace(netloc=f"{host.encode('idna').decode()}{port}").geturl()


def _field(name: str, about: dict[str, Any], needed: bool) -> Field | None:
    kind, values, hints = about.get("type", "string"), {}, []
    source = about.get("items", {}) if kind == "array" else about
    if kind == "boolean":
        values = {YES: True, NO: False}
    elif isinstance(source, dict):
        values = _values(source)
    if kind not in ("string", "integer", "number", "boolean", "array") or (kind == "array" and not values):
        return None
    if len(values) > OPTIONS:
        return None
    title = _line(str(about.get("title") or name), TITLE)
    if told := _line(str(about.get("description") or ""), TITLE):
        title = f"{title}: {told}" if told.casefold() != title.casefold() else title
    hints += [_kind_words(kind, about)] if not values else []
    if (default := about.get("default")) not in (None, "", []):
        meant = default if isinstance(default, list) else [default]
        said = ", ".join(label for label, value in values.items() if value in meant)
        hints.append(f"left empty: {said or _line(str(default), 80)}")
        needed = False
    elif not needed:
        hints.append("may be left empty")
    return Field(str(name), title, kind, about, needed, values, ", ".join(filter(None, hints)))


def _values(source: dict[str, Any]) -> dict[str, Any]:
    """Its choices: what is shown → what is sent. Two with one title are told apart by what is sent."""
    titled = source.get("oneOf") or source.get("anyOf")
    names = source.get("enumNames")
    if isinstance(titled, list):
        pairs = [(one.get("title"), one.get("const")) for one in titled if isinstance(one, dict)]
    elif isinstance(found := source.get("enum"), list):
        titles = names if isinstance(names, list) and len(names) == len(found) else found
        pairs = list(zip(titles, found, strict=True))
    else:
        return {}
    values: dict[str, Any] = {}
    for title, const in pairs:
        if isinstance(const, str | int | float):
            label = _line(str(title if title is not None else const), TITLE)
            values[label if label and label not in values else f"{label} ({_line(str(const), TITLE)})"] = const
    return values


def _kind_words(kind: str, about: dict[str, Any]) -> str:
    low, high = about.get("minimum"), about.get("maximum")
    if kind in ("integer", "number"):
        word = "a whole number" if kind == "integer" else "a number"
        bounds = [f"from {low:g}" if _real(low) else "", f"to {high:g}" if _real(high) else ""]
        return " ".join([word, *filter(None, bounds)])
    formats = {"email": "an e-mail address", "uri": "an address", "date": "a date such as 2030-01-31",
               "date-time": "a time such as 2030-01-31T18:30:00"}  # fmt: skip
    return formats.get(str(about.get("format")), "")


def _said(answer: Answer, fields: int) -> list[Said]:
    """One for each field. In a terminal a form is answered with a line for each."""
    if answer.parts:
        said = list(answer.parts)
    elif fields == 1:
        said = [Said("", tuple(filter(None, (answer.option, *answer.more))), answer.text)]
    else:
        said = [Said("", (), line.strip()) for line in answer.text.splitlines()]
    return (said + [Said("")] * fields)[:fields]


def _chosen(values: Mapping[str, Any], text: str) -> list[str]:
    """Choices that were typed, with commas between several."""
    typed = {word.strip().casefold() for word in (text, *text.split(","))} - {""}
    return [label for label in values if label.casefold() in typed]


def _counted(schema: Mapping[str, Any], given: list[str]) -> list[str]:
    low, high = schema.get("minItems"), schema.get("maxItems")
    if isinstance(low, int) and len(given) < low:
        raise ValueError(f"choose at least {low}")
    if isinstance(high, int) and len(given) > high:
        raise ValueError(f"choose at most {high}")
    return given


def _number(kind: str, schema: Mapping[str, Any], text: str) -> int | float:
    try:
        value = int(text) if kind == "integer" else float(text)
        if not math.isfinite(value):
            raise ValueError
    except ValueError:
        raise ValueError(f"{text[:40]!r} is no {'whole ' if kind == 'integer' else ''}number") from None
    low, high = schema.get("minimum"), schema.get("maximum")
    if (isinstance(low, int | float) and value < low) or (isinstance(high, int | float) and value > high):
        raise ValueError(f"{text[:40]} is not {_kind_words(kind, dict(schema)).split(' number ', 1)[-1]}")
    return value


def _text(schema: Mapping[str, Any], text: str) -> str:
    low, high = schema.get("minLength"), schema.get("maxLength")
    if isinstance(low, int) and len(text) < low:
        raise ValueError(f"it has fewer than {low} letters")
    if isinstance(high, int) and len(text) > high:
        raise ValueError(f"it has more than {high} letters")
    if not _formed(str(schema.get("format")), text):
        raise ValueError(f"{text[:40]!r} is not {_kind_words('string', dict(schema))}")
    return text


def _formed(kind: str, text: str) -> bool:
    try:
        match kind:
            case "email":
                return bool(EMAIL.fullmatch(text))
            case "uri":
                return bool(urlsplit(text).scheme)
            case "date":
                return bool(date.fromisoformat(text))
            case "date-time":
                return bool(datetime.fromisoformat(text))
            case _:
                return True
    except ValueError:
        return False


def _real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _line(text: str, most: int) -> str:
    shown = " ".join(visible(text).split())
    return shown if len(shown) <= most else shown[: most - 1] + "…"
