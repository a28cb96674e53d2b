"""Redaction of secrets: whole, split over chunks, encoded, and within large texts."""

import copy
import json
import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.redact import HINTS, MAX_HELD, PATTERNS, Redactor

KEY = 'k3y+with/"quotes" and-ünicode'
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{'MIIEowIBAAKCAQEA' * 40}\n-----END RSA PRIVATE KEY-----"
FOUND = {
    "private key": PEM,
    "AWS key": "AKIA" + "IOSFODNN7EXAMPLE",
    "AWS secret": "aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "GitHub token": "ghp_" + "a1B2" * 9,
    "Slack token": "xoxb-" + "123456789012-abcdefABCDEF",
    "Google key": "AIza" + "SyA" + "b" * 32,
    "JWT": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0.abc-DEF_123",
    "API key": "sk-ant-api03-" + "aB3_" * 10,
    "GitLab token": "glpat-" + "x" * 20,
    "token": "npm_" + "a" * 36,
    "authorization": "Authorization: Basic " + "dXNlcjpwYXNzd29yZA==",
    "bearer": "bearer " + "a.b-c" * 6,
    "password in an address": "://ada:hunter2hunter2@",
    "password": 'password = "correct horse battery"',
}


@pytest.mark.parametrize("kind", FOUND)
def test_each_kind_of_secret_is_found_and_the_rest_is_kept(kind: str) -> None:
    text = f"before {FOUND[kind]} after"
    redactor = Redactor()
    assert [finding.kind for finding in redactor.findings(text)] == [kind]
    assert redactor.redact(text) == f"before [{kind} removed] after"


@pytest.mark.parametrize(
    "text",
    ["an ordinary sentence, with numbers 1234567890", "https://example.org:8080/a@b", "git@github.com:a/b.git",
     "deadbeef" * 8, "password: see the manual", "skill-set", "task-force-with-many-words-in-it", "token = next(it)",
     "a/b/c.py:12: error", "550e8400-e29b-41d4-a716-446655440000"],
)  # fmt: skip
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert Redactor().redact(text) == text


def test_every_kind_of_secret_has_hints_and_an_example() -> None:
    assert set(HINTS) == set(PATTERNS) == set(FOUND)


def test_known_values_are_redacted_in_every_encoding() -> None:
    redactor = Redactor([KEY, "abc", ""])
    import base64
    from urllib.parse import quote

    forms = [KEY, json.dumps(KEY)[1:-1], quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode().rstrip("=")]
    for form in forms:
        assert redactor.redact(f"x {form} y") == "x [known secret removed] y"
    assert redactor.redact("abc") == "abc"


def test_the_redactor_hides_its_values_from_repr() -> None:
    redactor = Redactor([KEY])
    assert KEY not in f"{redactor!r}{redactor}{vars(type(redactor))}"
    for write_down in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError):
            write_down(redactor)
    with pytest.raises(TypeError):
        json.dumps(redactor)


PIECES = st.lists(st.sampled_from([*FOUND.values(), KEY, "word ", " \n", "://", "x" * 700, "é"]), max_size=12)


@given(PIECES, st.lists(st.integers(1, 900), min_size=1, max_size=40))
def test_no_chunking_lets_a_secret_through(words: list[str], sizes: list[int]) -> None:
    redactor = Redactor([KEY])
    text = " ".join(words)
    stream = redactor.stream()
    told, at, turn = "", 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        told += stream.feed(text[at : at + size])
        at, turn = at + size, turn + 1
    told += stream.close()
    for secret in [KEY, *(FOUND[kind].split()[-1] for kind in FOUND if kind not in ("private key", "password"))]:
        assert secret not in told
    assert "MIIEowIBAAKCAQEA" not in told and "correct horse" not in told
    assert told == redactor.redact(text)


def test_text_may_arrive_one_character_at_a_time() -> None:
    stream = Redactor([KEY]).stream()
    told = "".join(map(stream.feed, f"a {KEY} b " + "c" * 2000)) + stream.close()
    assert told == "a [known secret removed] b " + "c" * 2000


def test_an_unterminated_secret_is_not_buffered_forever() -> None:
    stream = Redactor().stream()
    told = stream.feed("-----BEGIN PRIVATE KEY-----\n")
    for _ in range(40):
        told += stream.feed("MIIEowIBAAKCAQEA\n" * 500)
        assert len(stream._held) <= MAX_HELD + 9_000
    told += stream.feed("-----END PRIVATE KEY-----\nafterwards") + stream.close()
    assert told == "[private key removed]\nafterwards"


HARD = {
    "words": "ordinary words " * 70_000,
    "one letter": "a" * 1_000_000,
    "dashes": "-----BEGIN " * 90_000,
    "open keys": "-----BEGIN PRIVATE KEY-----" * 37_000,
    "colons": "://a:" * 200_000,
    "tokens": "eyJ" * 333_000,
    "dots": "eyJaaaaaaaaa.eyJ" * 60_000,
    "passwords": 'password="' * 100_000,
    "prefixes": "sk-ab-" * 160_000,
    "bearers": "bearer " * 140_000,
}


@pytest.mark.parametrize("name", HARD)
def test_redaction_takes_linear_time(name: str) -> None:
    redactor = Redactor([KEY])
    began = time.process_time()
    redactor.redact(HARD[name])
    assert time.process_time() - began < 2.0
