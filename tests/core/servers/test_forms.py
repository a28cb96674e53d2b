"""Forms of tool servers: what a person is asked, what is sent, and what is wrong with an answer."""

import asyncio
from typing import Any

import pytest
from mcp_types import ElicitRequestFormParams, ElicitResult

from core.domain.question import Answer, Option, Question, Said
from core.servers.asking import MOST, Asking
from core.servers.forms import Form, form_of, plain, unfit


def form(**properties: dict[str, Any]) -> Form:
    made = form_of("box", "Say.", {"type": "object", "properties": properties, "required": list(properties)})
    assert isinstance(made, Form)
    return made


def sent(about: dict[str, Any], said: Said) -> Any:
    """Of one field: what is sent, or what is wrong."""
    content, wrong = form(x=about, y={"type": "string"}).content(Answer(parts=(said, Said("", text="y"))))
    return wrong or content["x"]


@pytest.mark.parametrize(
    ("about", "said", "value"),
    [
        ({"type": "string"}, Said("", text=" moss "), "moss"),
        ({"type": "string", "format": "email"}, Said("", text="moss"), "x: 'moss' is not an e-mail address."),
        ({"type": "string", "format": "email"}, Said("", text="a@b.example"), "a@b.example"),
        ({"type": "string", "format": "date"}, Said("", text="2030-02-31"), "x: '2030-02-31' is not a date such as "),
        ({"type": "string", "format": "date-time"}, Said("", text="2030-01-31T18:30:00"), "2030-01-31T18:30:00"),
        ({"type": "string", "format": "uri"}, Said("", text="moss"), "x: 'moss' is not an address."),
        ({"type": "string", "maxLength": 3}, Said("", text="moss"), "x: it has more than 3 letters."),
        ({"type": "integer"}, Said("", text="7"), 7),
        ({"type": "integer"}, Said("", text="7.5"), "x: '7.5' is no whole number."),
        ({"type": "number"}, Said("", text="7.5"), 7.5),
        ({"type": "number"}, Said("", text="inf"), "x: 'inf' is no number."),
        ({"type": "number", "minimum": 1}, Said("", text="0"), "x: 0 is not from 1."),
        ({"type": "boolean"}, Said("", ("No",)), False),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["Ash", "Birch"]}, Said("", ("Birch",)), "b"),
        ({"type": "string", "oneOf": [{"const": "a", "title": "Ash"}]}, Said("", text="ash"), "a"),
        ({"type": "string", "enum": ["a"]}, Said("", text="z"), "x: 'z' is none of its choices."),
        ({"type": "array", "items": {"enum": ["a", "b", "c"]}}, Said("", ("a", "c")), ["a", "c"]),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "Ash"}]}}, Said("", ("Ash",)), ["a"]),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2}, Said("", ("a",)), "x: choose at least 2."),
        ({"type": "string", "default": "moss"}, Said(""), "moss"),
        ({"type": "string"}, Said(""), "x: it is needed."),
    ],
)
def test_a_field_takes_what_fits_and_says_what_does_not(about: dict[str, Any], said: Said, value: Any) -> None:
    found = sent(about, said)
    assert found.startswith(value) if isinstance(value, str) and value.startswith("x: ") else found == value


def test_what_may_be_left_empty_is_left_out() -> None:
    made = form_of("box", "Say.", {"type": "object", "properties": {"x": {"type": "string"}}})
    assert isinstance(made, Form) and made.question().forms()[0].optional
    assert made.content(Answer()) == ({}, "")


def test_a_form_is_answered_in_a_terminal_with_a_line_for_each() -> None:
    made = form(name={"type": "string"}, age={"type": "integer"}, news={"type": "boolean"})
    assert made.content(Answer(text="Quinn\n40\nyes")) == ({"name": "Quinn", "age": 40, "news": True}, "")


def test_a_form_without_fields_asks_for_a_yes() -> None:
    assert form().question().options == (Option("Yes"),) and form().content(Answer(option="Yes")) == ({}, "")


def test_words_that_hide_are_shown_and_endless_ones_are_cut() -> None:
    made = form(x={"type": "string", "title": "a\u202eb", "description": "d" * 1000})
    assert "⟦U+202E⟧" in made.question().why and len(made.question().why) < 800


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
def test_a_form_that_cannot_be_shown_is_refused_in_words(schema: dict[str, Any]) -> None:
    assert isinstance(form_of("box", "Say.", schema), str)


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
    assert (why in unfit(url)) if why else not unfit(url)
    assert plain("https://bänk.example:8/x") == "https://xn--bnk-qla.example:8/x"


def test_a_server_that_asks_without_end_is_not_listened_to_for_ever() -> None:
    heard: list[Question] = []

    async def ask(question: Question) -> Answer:
        heard.append(question)
        return Answer(declined=True)

    async def test() -> list[str]:
        async with asyncio.timeout(None) as clock:
            asking = Asking("box", ask, clock, 60)
            wants = ElicitRequestFormParams(message="Again?", requested_schema={"properties": {}})
            actions = [await asking.elicit(wants) for _ in range(MOST + 5)]
            asking.end()
            return [action.action for action in actions if isinstance(action, ElicitResult)]

    assert asyncio.run(test()) == ["decline"] * MOST + ["cancel"] * 5
    assert len({question.id for question in heard}) == MOST, "each has a name of its own"
