"""Tests of MCP elicitation forms: the question, the content that is sent, and the errors of an answer."""

import asyncio
from typing import Any

import pytest
from mcp_types import ElicitRequestFormParams, ElicitResult

from core.domain.address import ascii_url
from core.domain.question import Answer, Question, QuestionOption, SubAnswer
from core.mcp.elicitation import MAX_QUESTIONS, CallElicitation
from core.mcp.elicitation_form import ElicitationForm, parse_form, url_rejection


def form(**properties: dict[str, Any]) -> ElicitationForm:
    made = parse_form("box", "Say.", {"type": "object", "properties": properties, "required": list(properties)})
    assert isinstance(made, ElicitationForm)
    return made


def sent(about: dict[str, Any], said: SubAnswer) -> Any:
    """Answer a form with one field; return the value that is sent, or the error."""
    content, wrong = form(x=about, y={"type": "string"}).parse_answer(
        Answer(sub_answers=(said, SubAnswer("", text="y")))
    )
    return wrong or content["x"]


@pytest.mark.parametrize(
    ("about", "said", "value"),
    [
        ({"type": "string"}, SubAnswer("", text=" moss "), "moss"),
        ({"type": "string", "format": "email"}, SubAnswer("", text="moss"), "x: 'moss' is not an email address."),
        ({"type": "string", "format": "email"}, SubAnswer("", text="a@b.example"), "a@b.example"),
        (
            {"type": "string", "format": "date"},
            SubAnswer("", text="2030-02-31"),
            "x: '2030-02-31' is not a date such as ",
        ),
        ({"type": "string", "format": "date-time"}, SubAnswer("", text="2030-01-31T18:30:00"), "2030-01-31T18:30:00"),
        ({"type": "string", "format": "uri"}, SubAnswer("", text="moss"), "x: 'moss' is not a URL."),
        ({"type": "string", "maxLength": 3}, SubAnswer("", text="moss"), "x: it has more than 3 characters."),
        ({"type": "integer"}, SubAnswer("", text="7"), 7),
        ({"type": "integer"}, SubAnswer("", text="7.5"), "x: '7.5' is not a whole number."),
        ({"type": "number"}, SubAnswer("", text="7.5"), 7.5),
        ({"type": "number"}, SubAnswer("", text="inf"), "x: 'inf' is not a number."),
        ({"type": "number", "minimum": 1}, SubAnswer("", text="0"), "x: 0 is out of range (from 1)."),
        ({"type": "boolean"}, SubAnswer("", ("No",)), False),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["Ash", "Birch"]}, SubAnswer("", ("Birch",)), "b"),
        ({"type": "string", "oneOf": [{"const": "a", "title": "Ash"}]}, SubAnswer("", text="ash"), "a"),
        ({"type": "string", "enum": ["a"]}, SubAnswer("", text="z"), "x: 'z' is not one of the options."),
        ({"type": "array", "items": {"enum": ["a", "b", "c"]}}, SubAnswer("", ("a", "c")), ["a", "c"]),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "Ash"}]}}, SubAnswer("", ("Ash",)), ["a"]),
        (
            {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2},
            SubAnswer("", ("a",)),
            "x: choose at least 2.",
        ),
        ({"type": "string", "default": "moss"}, SubAnswer(""), "moss"),
        ({"type": "string"}, SubAnswer(""), "x: this field is required."),
    ],
)
def test_a_field_accepts_valid_values_and_explains_others(about: dict[str, Any], said: SubAnswer, value: Any) -> None:
    found = sent(about, said)
    assert found.startswith(value) if isinstance(value, str) and value.startswith("x: ") else found == value


def test_optional_fields_left_empty_are_omitted() -> None:
    made = parse_form("box", "Say.", {"type": "object", "properties": {"x": {"type": "string"}}})
    assert isinstance(made, ElicitationForm) and made.question().all_questions()[0].optional
    assert made.parse_answer(Answer()) == ({}, "")


def test_a_form_is_answered_in_a_terminal_with_a_line_for_each() -> None:
    made = form(name={"type": "string"}, age={"type": "integer"}, news={"type": "boolean"})
    assert made.parse_answer(Answer(text="Quinn\n40\nyes")) == ({"name": "Quinn", "age": 40, "news": True}, "")


def test_a_form_without_fields_asks_for_confirmation() -> None:
    assert form().question().options == (QuestionOption("Yes"),) and form().parse_answer(Answer(option="Yes")) == (
        {},
        "",
    )


def test_invisible_text_is_shown_and_endless_text_is_truncated() -> None:
    made = form(x={"type": "string", "title": "a\u202eb", "description": "d" * 1000})
    assert "⟦U+202E⟧" in made.question().reason and len(made.question().reason) < 800


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"x": {"type": "object"}}},
        {"properties": {"x": {"type": "array", "items": {"type": "string"}}}},
        {"properties": {str(n): {"type": "string"} for n in range(50)}},
        {"properties": {"x": {"type": "string", "enum": [str(n) for n in range(500)]}}},
        {"properties": {"x": "string"}},
        {"properties": []},
        {},
    ],
)
def test_a_form_that_cannot_be_shown_is_refused(schema: dict[str, Any]) -> None:
    assert isinstance(parse_form("box", "Say.", schema), str)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://a.example/x?y=1", ""),
        ("http://127.0.0.1:8080/", ""),
        ("javascript:alert(1)", "http"),
        ("file:///etc/passwd", "http"),
        ("https:///x", "http"),
        ("https://a.example/\u202e", "http"),
        ("https://a.example\\@evil.example/", "http"),
        ("https://bank.example@evil.example/", "before its host"),
        ("https://a.example:99999/", "http"),
    ],
)
def test_only_plain_web_addresses_are_asked_about(url: str, why: str) -> None:
    assert (why in url_rejection(url)) if why else not url_rejection(url)
    assert ascii_url("https://bänk.example:8/x") == "https://xn--bnk-qla.example:8/x"


def test_a_server_that_asks_endlessly_is_ignored_eventually() -> None:
    heard: list[Question] = []

    async def ask(question: Question) -> Answer:
        heard.append(question)
        return Answer(declined=True)

    async def test() -> list[str]:
        async with asyncio.timeout(None) as clock:
            asking = CallElicitation("box", ask, clock, 60)
            wants = ElicitRequestFormParams(message="Again?", requested_schema={"properties": {}})
            actions = [await asking.elicit(wants) for _ in range(MAX_QUESTIONS + 5)]
            asking.cancel_questions()
            return [action.action for action in actions if isinstance(action, ElicitResult)]

    assert asyncio.run(test()) == ["decline"] * MAX_QUESTIONS + ["cancel"] * 5
    assert len({question.id for question in heard}) == MAX_QUESTIONS, "each question has its own id"
