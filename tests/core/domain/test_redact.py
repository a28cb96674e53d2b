"""Redaction of secrets: whole, split over chunks, encoded, and within large texts."""

import base64
import copy
import json
import pickle
import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.escaped_text import decode_escapes
from core.domain.redact import Redactor
from core.domain.secret_formats import looks_random, secret_formats

KEY = 'k3y+with/"quotes" and-ünicode'
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{'MIIEowIBAAKCAQEA' * 40}\n-----END RSA PRIVATE KEY-----"
FOUND = {  # the text before the secret, and the secret
    "private key": ("", PEM),
    "AWS key": ("", "AKIA" + "IOSFODNN7EXAMPLE"),
    "AWS secret": ("aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    "GitHub token": ("", "ghp_" + "a1B2" * 9),
    "Slack token": ("", "xoxb-" + "123456789012-abcdefABCDEF"),
    "Google key": ("", "AIza" + "SyA" + "b" * 32),
    "JWT": ("", "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0.abc-DEF_123"),
    "API key": ("", "sk-ant-api03-" + "aB3_" * 10),
    "GitLab token": ("", "glpat-" + "x" * 20),
    "npm token": ("", "npm_" + "a" * 36),
    "authorization": ("Authorization: Basic ", "dXNlcjpwdw=="),
    "bearer": ("bearer ", "a.b-c" * 6),
    "password in an address": ("postgres://ada:", "pw"),
    "password": ('password = "', "correct horse battery"),
    "age key": ("", "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" * 2),
    "Azure storage key": ("AccountName=a;AccountKey=", "Ab3+" * 21 + "Zz=="),
    "Telegram token": ("", "1234567890:AA" + "Hd1_x" * 6 + "abc"),
    "Discord token": ("", "MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcDe." + "aB3_x" * 5 + "xyz"),
    "Twilio key": ("", "SK" + "0a1b2c3d" * 4),
    "SendGrid key": ("", "SG." + "aB3-x" * 4 + "yz." + "aB3_x" * 8 + "xyz"),
    "Vault token": ("", "hvs." + "CAESI" * 6),
    "Databricks token": ("", "dapi" + "0a1b2c3d" * 4),
    "Groq key": ("", "gsk_" + "aB3xy" * 10),
    "xAI key": ("", "xai-" + "aB3xy" * 16),
    "netrc password": ("machine h.example login ada password ", "hunter2"),
    "password in a connection string": ("Server=db;Uid=sa;Pwd=", "hunter2"),
    "authorization header": ("extraheader = AUTHORIZATION: basic ", "eC1hY2Nlc3MtdG9rZW46aHVudGVyMmhvcnNl"),
    "password of sshpass": ("sshpass -p ", "hunter2horse"),
    "password hash": ("bob:", "$apr1$abcdefgh$" + "0aB./" * 4 + "xY"),
    "named secret": ("DATADOG_API_KEY=", "0a1b2c3d4e5f60718293a4b5c6d7e8f9"),
}


def test_file_contents_lose_headers_with_tokens_but_not_those_of_examples() -> None:
    redactor = Redactor(uncertain=False)
    for kind in ("authorization header", "password of sshpass", "password hash"):
        assert FOUND[kind][1] not in redactor.redact("".join(FOUND[kind]))
    for line in (
        "Authorization: Bearer YOUR_ACCESS_TOKEN_HERE", "authorization: bearer <access-token-goes-here>",
        'headers["Authorization"] = "Bearer " + token', "Authorization: token {token_of_the_user}",
        'sshpass -p "$PASSWORD" ssh host', "price: $2a$ and $apr1$",
    ):  # fmt: skip
        assert redactor.redact(line) == line


@pytest.mark.parametrize("kind", FOUND)
def test_each_kind_of_secret_is_found_and_the_rest_is_kept(kind: str) -> None:
    name, secret = FOUND[kind]
    redactor = Redactor()
    for end in (" after", '" after', "\n"):
        text = f"before {name}{secret}{end}"
        if kind == "password" and end != '" after':
            continue
        host = "@db/x" if kind == "password in an address" else ""
        text = f"before {name}{secret}{host}{end}"
        assert kind in {found.kind for found in redactor.findings(text)}
        assert redactor.redact(text) == f"before {name}[{redactor.findings(text)[0].kind} removed]{host}{end}"


@pytest.mark.parametrize(
    ("address", "masked"),
    [
        ("https://{secret}@git.example.com/a/b.git", "0aB1cD2eF3gH4iJ5kL6m"),
        ("https://{secret}:x-oauth-basic@git.example.com/a.git", "3f786850e387550fdab836ed7e6dc881de23001b"),
        ("HTTPS://{secret}:@git.example.com/a.git", "0aB1cD2eF3gH4iJ5kL6m"),
        ("http:\\/\\/{secret}@git.example.com", "zq7_Rt5-Yu3.Io1=Pa9~"),
        ("https%3A%2F%2F{secret}%40git.example.com", "0aB1cD2eF3gH4iJ5kL6m"),
        ("https://ada:{secret}@git.example.com/", "p@ss@word"),
        ("https://" + "u" * 300 + ":{secret}@git.example.com/", "hunter2"),
    ],
)
def test_a_token_in_an_address_of_git_is_masked_whatever_its_format(address: str, masked: str) -> None:
    for text in (address, f"[remote]\n\turl = {address}\n\tfetch = x@y\n", f"git clone '{address}'"):
        for uncertain in (False, True):
            redacted = Redactor(uncertain=uncertain).redact(text.format(secret=masked))
            assert masked not in redacted and "ss@" not in redacted, redacted


@pytest.mark.parametrize(
    "text",
    ["https://my-company-2026-team@dev.azure.com/a/b", "https://ada@bitbucket.org/a/b.git", "ssh://deploy42@host/x",
     "https://${TOKEN}@host", "https://example.org/0aB1cD2eF3gH4iJ5kL6m/a@b", "https://example.org:8080/@vite/client"],
)  # fmt: skip
def test_user_names_and_paths_in_addresses_are_kept(text: str) -> None:
    assert Redactor().redact(text) == text


@pytest.mark.parametrize(
    "text",
    ["an ordinary sentence, with numbers 1234567890", "https://example.org:8080/a@b", "git@github.com:a/b.git",
     "deadbeef" * 8, "password: see the manual", "skill-set", "task-force-with-many-words-in-it", "token = next(it)",
     "a/b/c.py:12: error", "550e8400-e29b-41d4-a716-446655440000"],
)  # fmt: skip
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert Redactor().redact(text) == text


def test_every_format_is_complete() -> None:
    for form in secret_formats():
        assert form.compiled.pattern and form.hints and all(hint == hint.lower() for hint in form.hints), form.kind
    assert set(FOUND) <= {form.kind for form in secret_formats()}


@pytest.mark.parametrize(
    ("text", "random"),
    [("d41d8cd98f00b204e9800998ecf8427e", True), ("SjssXZ9BuYFyYlSlAvaPSTbnVWsrkniefDchz", True),
     ("aKfjWoqPzLmXnVbQtYrEsDuGhIcJ", True), ("some_long_name_of_a_setting", False), ("12345678901234567890", False),
     ("2026-11-23-report", False), ("MyVeryLongCamelCaseClassName", False), ("aaaaaaaaaaaaaaaa1", False)],
)  # fmt: skip
def test_names_and_numbers_do_not_look_random(text: str, random: bool) -> None:
    assert looks_random(text) == random


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


WRITTEN = [name + secret + ("@db" if "://" in name else '"' if '"' in name else "") for name, secret in FOUND.values()]
PIECES = st.lists(st.sampled_from([*WRITTEN, KEY, "word ", " \n", "://", "x" * 700, "é"]), max_size=12)


@given(PIECES)
def test_no_secret_among_other_text_is_left(words: list[str]) -> None:
    redacted = Redactor([KEY]).redact(" ".join(words))
    for secret in [KEY, *(secret for _, secret in FOUND.values() if len(secret) > 7)]:
        assert secret not in redacted
    assert "MIIEowIBAAKCAQEA" not in redacted


HARD = {
    "words": "ordinary words " * 70_000,
    "one letter": "a" * 1_000_000,
    "dashes": "-----BEGIN " * 90_000,
    "open keys": "-----BEGIN PRIVATE KEY-----" * 37_000,
    "colons": "://a:" * 200_000,
    "addresses": "https://" * 120_000,
    "at signs": "://a:" + "b@" * 400_000,
    "long user names": ("https://" + "a1" * 250) * 2_000,
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


@pytest.mark.parametrize("escape", ["", "q", "n", "u0041"])
def test_a_long_run_of_backslashes_is_read_once(escape: str) -> None:
    """Tried from each backslash, this would take hours."""
    decoded = decode_escapes("\\" * 300_000 + escape)
    assert decoded is None or decoded.text.endswith({"n": "\n", "u0041": "A"}.get(escape, escape))


ENCODED: dict[str, Callable[[bytes], str]] = {
    "hexadecimal": lambda body: body.hex(),
    "capital hexadecimal": lambda body: body.hex().upper(),
    "spaced hexadecimal": lambda body: body.hex(" "),
    "escaped": lambda body: "".join(f"\\x{byte:02x}" for byte in body),
    "percent": lambda body: "".join(f"%{byte:02X}" for byte in body),
    "base32": lambda body: base64.b32encode(body).decode(),
    "base64": lambda body: base64.b64encode(body).decode(),
    "URL base64": lambda body: base64.urlsafe_b64encode(body).decode(),
    "wrapped base64": lambda body: base64.encodebytes(b"A=1\n" * 13 + body).decode(),
    "wrapped hexadecimal": lambda body: "\n".join(re.findall(".{1,30}", body.hex())),
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("form", ENCODED)
def test_a_known_secret_is_found_in_encoded_text(form: str, encoding: str) -> None:
    """Wherever it is in the text that was encoded."""
    known = "plain-" + "Wx4" * 6 + "_end/"
    redactor = Redactor([known], uncertain=False)
    for before in ("", "u", "us", "use", "user", "user:"):
        text = f"Output: {ENCODED[form](f'{before}{known}tail'.encode(encoding))} done"
        cleaned = redactor.redact(text)
        assert "[known secret removed]" in cleaned and cleaned.endswith(" done"), text
    assert redactor.redact("The plain text. " * 50) == "The plain text. " * 50


def test_a_known_secret_is_found_in_utf_16_that_was_read_as_text() -> None:
    known = "plain-" + "Wx4" * 6
    for encoding in ("utf-16-le", "utf-16-be"):
        assert "known secret" in Redactor([known]).redact(f"key={known}!".encode(encoding).decode())
