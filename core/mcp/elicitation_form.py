"""Conversion of MCP elicitation forms to questions, and of the user's answers to form content."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

from core.domain.address import ascii_url
from core.domain.question import Answer, Question, QuestionOption, SubAnswer, SubQuestion
from core.domain.visible import visible

MAX_FIELDS, MAX_OPTIONS = 20, 100
MAX_MESSAGE, MAX_TITLE = 4_000, 300
YES, NO = "Yes", "No"
OPEN = "Open the page"
EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
SECRETS_WARNING = "Your answer is sent to it and stored in the session. Do not enter passwords or API keys."
Value = str | int | float | bool | list[str]


@dataclass(frozen=True, slots=True)
class ElicitationField:
    """A form field. `values` maps the label of each option to the value to send; empty for a field without options."""

    name: str
    title: str
    kind: str
    schema: Mapping[str, Any]
    required: bool
    values: Mapping[str, Any]
    hints: str = ""

    def question_part(self) -> SubQuestion:
        """Return the field as a sub-question of the question for the user."""
        options = tuple(QuestionOption(label) for label in self.values)
        hints = f" ({self.hints})" if self.hints else ""
        return SubQuestion(
            text=f"{self.title}{hints}",
            options=options,
            free_text=not options,
            multi_select=self.kind == "array",
            optional=not self.required,
        )

    def parse_answer(self, answer: SubAnswer) -> Value | None:
        """Return the value to send, or None if the field is empty. Raises `ValueError` with the reason if invalid."""
        labels = [label for label in answer.options if label in self.values] or _typed_options(self.values, answer.text)
        if self.kind == "array":
            return _check_count(self.schema, [str(self.values[label]) for label in labels]) if labels else None
        if self.values:
            if not labels and answer.text:
                raise ValueError(f"{answer.text[:40]!r} is not one of the options")
            return self.values[labels[0]] if labels else None
        text = answer.text.strip()
        if not text:
            return None
        return _number(self.kind, self.schema, text) if self.kind in ("integer", "number") else _text(self.schema, text)


@dataclass(frozen=True, slots=True)
class ElicitationForm:
    """An elicitation form."""

    server: str
    message: str
    fields: tuple[ElicitationField, ...]

    def question(self, error: str = "") -> Question:
        """Return the question for the user; `error` is what was wrong with the previous answer, if anything."""
        field_text = f"{self.fields[0].question_part().text}. " if len(self.fields) == 1 else ""
        correction = f"{error} " if error else ""
        reason = f"{correction}{field_text}The MCP server {self.server} asks this, not the agent. {SECRETS_WARNING}"
        parts = tuple(field.question_part() for field in self.fields)
        if not parts:
            return Question("", self.message, reason, (QuestionOption(YES),), free_text=False, mcp_server=self.server)
        return Question(
            "", self.message, reason, sub_questions=parts, free_text=parts[0].free_text, mcp_server=self.server
        )

    def parse_answer(self, answer: Answer) -> tuple[dict[str, Any], str]:
        """Return the content to send, and an error message if the answer is invalid."""
        content: dict[str, Any] = {}
        for field, field_answer in zip(self.fields, _field_answers(answer, len(self.fields)), strict=True):
            try:
                value = field.parse_answer(field_answer)
            except ValueError as error:
                return {}, f"{field.title}: {error}."
            if value is None and "default" in field.schema:
                value = field.schema["default"]
            if value is None and field.required:
                return {}, f"{field.title}: this field is required."
            if value is not None:
                content[field.name] = value
        return content, ""


def parse_form(server: str, message: str, schema: Mapping[str, Any]) -> ElicitationForm | str:
    """Parse the form that a server requests. If it cannot be shown, return the reason, to send to the server."""
    properties, required = schema.get("properties"), schema.get("required") or ()
    if not isinstance(properties, dict) or len(properties) > MAX_FIELDS or not isinstance(required, list | tuple):
        return f"a form must be an object with at most {MAX_FIELDS} properties"
    fields: list[ElicitationField] = []
    for name, field_schema in properties.items():
        field = _field(name, field_schema, name in required) if isinstance(field_schema, dict) else None
        if field is None:
            return f"the type of the property {str(name)[:60]} is not supported"
        fields.append(field)
    return ElicitationForm(server, _single_line(message, MAX_MESSAGE) or "Please answer.", tuple(fields))


def page_question(server: str, message: str, url: str, options: Sequence[str] = (OPEN,)) -> Question:
    """Return the question whether to open a page. Without a URL, ask `message` with these options instead.

    The URL is shown in full, its host name in ASCII, so that lookalike letters are visible.
    """
    if not url:
        return Question(
            "",
            message,
            f"The MCP server {server} asks this, not the agent.",
            tuple(map(QuestionOption, options)),
            free_text=False,
            mcp_server=server,
        )
    text = f"{server} asks you to open a page on {urlsplit(ascii_url(url)).hostname}"
    asks = f"The MCP server {server} asks this, not the agent. The page opens in your browser only if you confirm."
    reason = "\n".join(filter(None, (ascii_url(url), _single_line(message, MAX_MESSAGE), asks)))
    return Question(
        "", text, reason, tuple(map(QuestionOption, options)), free_text=False, mcp_server=server, url=ascii_url(url)
    )


def url_rejection(url: str) -> str:
    """Return why a URL must not be opened; empty if it is acceptable."""
    try:
        parts = urlsplit(url)
        has_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        is_valid = has_address and bool(ascii_url(url))
    except ValueError:
        is_valid = False
    has_hidden_characters = visible(url) != url or re.search(r"[\s\\]", url)
    if not is_valid or len(url) > MAX_MESSAGE or has_hidden_characters:
        return "it is not an http or https URL"
    return "it has a user name before its host" if "@" in parts.netloc else ""


def _field(name: str, schema: dict[str, Any], required: bool) -> ElicitationField | None:
    kind = schema.get("type", "string")
    values: dict[str, Any] = {}
    hints: list[str] = []
    source = schema.get("items", {}) if kind == "array" else schema
    if kind == "boolean":
        values = {YES: True, NO: False}
    elif isinstance(source, dict):
        values = _values(source)
    if kind not in ("string", "integer", "number", "boolean", "array"):
        return None
    if (kind == "array" and not values) or len(values) > MAX_OPTIONS:
        return None
    title = _single_line(str(schema.get("title") or name), MAX_TITLE)
    description = _single_line(str(schema.get("description") or ""), MAX_TITLE)
    if description and description.casefold() != title.casefold():
        title = f"{title}: {description}"
    if not values:
        hints.append(_type_text(kind, schema))
    if (default := schema.get("default")) not in (None, "", []):
        defaults = default if isinstance(default, list) else [default]
        default_label = ", ".join(label for label, value in values.items() if value in defaults)
        hints.append(f"default: {default_label or _single_line(str(default), 80)}")
        required = False
    elif not required:
        hints.append("optional")
    return ElicitationField(
        name=str(name),
        title=title,
        kind=kind,
        schema=schema,
        required=required,
        values=values,
        hints=", ".join(filter(None, hints)),
    )


def _values(source: dict[str, Any]) -> dict[str, Any]:
    """Return the options in the schema of a field, as label → value; {} if it has none.

    The label is the option's title. If that is empty or taken, the value is appended.
    """
    choices = source.get("oneOf") or source.get("anyOf")
    enum, enum_names = source.get("enum"), source.get("enumNames")
    if isinstance(choices, list):
        pairs = [(choice.get("title"), choice.get("const")) for choice in choices if isinstance(choice, dict)]
    elif isinstance(enum, list):
        titles = enum_names if isinstance(enum_names, list) and len(enum_names) == len(enum) else enum
        pairs = list(zip(titles, enum, strict=True))
    else:
        return {}
    values: dict[str, Any] = {}
    for title, const in pairs:
        if isinstance(const, str | int | float):
            label = _single_line(str(title if title is not None else const), MAX_TITLE)
            if not label or label in values:
                label = f"{label} ({_single_line(str(const), MAX_TITLE)})"
            values[label] = const
    return values


def _type_text(kind: str, schema: dict[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if kind in ("integer", "number"):
        word = "a whole number" if kind == "integer" else "a number"
        bounds = [f"from {low:g}" if _is_number(low) else "", f"to {high:g}" if _is_number(high) else ""]
        return " ".join([word, *filter(None, bounds)])
    formats = {
        "email": "an email address",
        "uri": "a URL",
        "date": "a date such as 2030-01-31",
        "date-time": "a time such as 2030-01-31T18:30:00",
    }
    return formats.get(str(schema.get("format")), "")


def _field_answers(answer: Answer, fields: int) -> list[SubAnswer]:
    """Return an answer for each of the fields; missing ones are empty. A typed answer has one line per field."""
    if answer.sub_answers:
        answers = list(answer.sub_answers)
    elif fields == 1:
        answers = [SubAnswer("", tuple(filter(None, (answer.option, *answer.more_options))), answer.text)]
    else:
        answers = [SubAnswer("", (), line.strip()) for line in answer.text.splitlines()]
    return (answers + [SubAnswer("")] * fields)[:fields]


def _typed_options(values: Mapping[str, Any], text: str) -> list[str]:
    """Return the labels that the typed text names: one, or several separated by commas. Case is ignored."""
    entries = {word.strip().casefold() for word in (text, *text.split(","))} - {""}
    return [label for label in values if label.casefold() in entries]


def _check_count(schema: Mapping[str, Any], values: list[str]) -> list[str]:
    low, high = schema.get("minItems"), schema.get("maxItems")
    if isinstance(low, int) and len(values) < low:
        raise ValueError(f"choose at least {low}")
    if isinstance(high, int) and len(values) > high:
        raise ValueError(f"choose at most {high}")
    return values


def _number(kind: str, schema: Mapping[str, Any], text: str) -> int | float:
    try:
        value = int(text) if kind == "integer" else float(text)
        if not math.isfinite(value):
            raise ValueError
    except ValueError:
        raise ValueError(f"{text[:40]!r} is not a {'whole ' if kind == 'integer' else ''}number") from None
    low, high = schema.get("minimum"), schema.get("maximum")
    if (isinstance(low, int | float) and value < low) or (isinstance(high, int | float) and value > high):
        raise ValueError(f"{text[:40]} is out of range ({_type_text(kind, dict(schema)).split(' number ', 1)[-1]})")
    return value


def _text(schema: Mapping[str, Any], text: str) -> str:
    low, high = schema.get("minLength"), schema.get("maxLength")
    if isinstance(low, int) and len(text) < low:
        raise ValueError(f"it has fewer than {low} characters")
    if isinstance(high, int) and len(text) > high:
        raise ValueError(f"it has more than {high} characters")
    if not _has_format(str(schema.get("format")), text):
        raise ValueError(f"{text[:40]!r} is not {_type_text('string', dict(schema))}")
    return text


def _has_format(kind: str, text: str) -> bool:
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


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _single_line(text: str, limit: int) -> str:
    line = " ".join(visible(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
