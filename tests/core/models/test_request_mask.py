"""No request contains a key or password, wherever it is and however it is encoded."""

import asyncio
import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from keyring.backend import KeyringBackend

from core.domain.events import ToolCall
from core.domain.messages import Message
from core.domain.text import Attachment, Text
from core.engine.services.providers import Providers
from core.models.catalog import ModelCatalog
from core.models.json_values import parse_json
from core.models.model import Request, ToolSpec
from core.models.request_mask import RequestMask
from core.models.text_call_adapter import TextCallAdapter
from core.settings.api_keys import ApiKeys, KeyOwner
from core.settings.schema import Provider, Settings
from core.settings.settings_file import SettingsFile
from core.tools.argument_check import argument_fault
from tests.core.models.replies import gather
from tests.secrets import ENCODINGS, FORMATS, find_known_leaks, find_leaks
from tests.servers.scripted_server import failure, scripted_server

OWN = "my0wn-pr0vider-key/without+a=format"
GITHUB = "ghp_" + "a1B2c3D4e5F6" * 3


class MemoryKeyring(KeyringBackend):
    """A keyring that holds one key."""

    priority = 1.0

    def __init__(self) -> None:
        """Replace the untyped constructor of the base class."""

    def get_password(self, service: str, username: str) -> str | None:
        return OWN if username.startswith("mistral") else None

    def set_password(self, service: str, username: str, password: str) -> None: ...

    def delete_password(self, service: str, username: str) -> None: ...


def request_with(secret: str) -> Request:
    """Return a request that contains a secret in each of its parts."""
    inner = json.dumps({"stdout": f"line\n{secret}\n"})
    arguments = json.dumps({"path": "a.py", "content": f"a\n{secret}\n", "nested": [{"output": inner}], secret: 1})
    schema = {"type": "object", "properties": {"x": {"type": "string", "description": f"as in {secret}"}}}
    return Request(
        [
            Message(
                "user", Text(f"Use {secret}, please."), attachments=(Attachment(f"{secret}.txt", "text/plain", "b", 9),)
            ),
            Message(
                "assistant",
                Text(f"I saw\n{secret}"),
                (ToolCall("r1c1", "write", Text(arguments)),),
                reasoning=Text(secret),
            ),
            Message("tool", Text(inner), call_id="r1c1"),
            Message("user", Text(f'{{"who": "tool", "output": "x\\n{secret}"}}')),
        ],
        tools=(ToolSpec("write", f"Write a file, as {secret}.", schema),),
        read_attachment=lambda _: f"attached {secret}".encode(),
        system_prompt=f"The folder says:\n{secret}",
    )


def strings(value: Any) -> Iterator[str]:
    """Yield every string of a JSON value, and those of the JSON in its strings."""
    if isinstance(value, str):
        yield value
        if isinstance(plain := parse_json(value), dict | list):
            yield from strings(plain)
    for item in value.items() if isinstance(value, dict) else ():
        yield from strings(list(item))
    for item in value if isinstance(value, list) else ():
        yield from strings(item)


@pytest.mark.parametrize("api", ["chat", "anthropic", "responses", "ollama"])
@pytest.mark.parametrize("secret", [GITHUB, OWN, "postgres://u:pw@db/x", "AGE-SECRET-KEY-1" + "QPZRY9X8GF2T" * 5])
@pytest.mark.parametrize("as_text", [False, True])
def test_no_part_of_a_request_contains_a_secret(api: Any, secret: str, as_text: bool) -> None:
    async def run() -> list[Any]:
        async with scripted_server(*[failure("400 No", {"error": {"message": "no"}})] * 3) as server:
            settings = Settings(providers=(Provider(name="box", url=server.url, api=api),))
            keys = ApiKeys({}, lambda: [MemoryKeyring()], frozenset({f"{__name__}.MemoryKeyring"}))
            model: Any = ModelCatalog(lambda: settings, keys, {}).model("box/m")
            await gather(TextCallAdapter(model, "b0undary", argument_fault) if as_text else model, request_with(secret))
            return [asked.json for asked in server.requests if asked.body]

    bodies = asyncio.run(run())
    assert bodies
    for text in strings(bodies):
        part = ":pw@" if "://" in secret else secret
        assert part not in text and json.dumps(part)[1:-1] not in text, text
    assert "removed]" in json.dumps(bodies) and "line" in json.dumps(bodies)


def test_keys_of_the_user_are_removed_in_every_encoding() -> None:
    mask = RequestMask()
    mask.set_known([OWN])
    for name, encode in ENCODINGS.items():
        assert OWN not in mask.text(encode(OWN)) and "[known secret removed]" in mask.text(encode(OWN)), name
    for before in ("", "u:", "us:", "use:"):
        assert "[known secret removed]" in mask.text(f"Basic {b64encode(f'{before}{OWN}'.encode()).decode()}")


def test_arguments_nested_as_deeply_as_a_parser_accepts_are_sent_without_secrets() -> None:
    """A model chooses them. They stay in the session, so that a failure would end each further run."""
    mask = RequestMask()
    mask.set_known([OWN])
    nested = f'{{"items": {"[" * 900}"{OWN}"{"]" * 900}}}'
    assert mask.json_text(nested) == nested.replace(OWN, "[known secret removed]")


def test_the_keyring_is_read_once_and_keys_set_later_are_known_too() -> None:
    asked: list[str] = []

    class Counting(MemoryKeyring):
        def get_password(self, service: str, username: str) -> str | None:
            asked.append(username)
            return super().get_password(service, username)

    async def run() -> None:
        keys = ApiKeys(
            {"GITHUB_TOKEN": "0ther-f0rmat-9x8y7z6w"},
            lambda: [Counting()],
            frozenset({f"{__name__}.{Counting.__qualname__}"}),
        )
        catalog = ModelCatalog(Settings, keys, {"GITHUB_TOKEN": "0ther-f0rmat-9x8y7z6w", "DB_PASSWORD": "postgres"})
        request = Request([Message("user", Text(f"{OWN} 0ther-f0rmat-9x8y7z6w later-key-1 postgres"))])

        async def sent() -> str:
            masked = await catalog.masked(request)
            return masked.read_text(masked.messages[0].text)

        assert (
            (await sent()).endswith("later-key-1 postgres") and OWN not in await sent() and "0ther" not in await sent()
        )
        assert len(asked) == len(set(asked)) > 3
        keys.keep_in_memory(KeyOwner("openai", "https://api.openai.com"), "later-key-1")
        assert "later-key-1" not in await sent() and "postgres" in await sent()

    asyncio.run(run())


def test_a_keyring_that_failed_is_asked_again_only_after_an_operation_on_it_succeeded(tmp_path: Path) -> None:
    class Locked(MemoryKeyring):
        locked = True
        lookups = 0

        def get_password(self, service: str, username: str) -> str | None:
            self.lookups += 1
            if self.locked:
                raise RuntimeError("dismissed")
            return super().get_password(service, username)

    async def run() -> None:
        keyring = Locked()
        keys = ApiKeys({}, lambda: [keyring], frozenset({f"{__name__}.{Locked.__qualname__}"}))
        catalog = ModelCatalog(Settings, keys, {})
        request = Request([Message("user", Text(OWN))])
        for _ in range(3):
            masked = await catalog.masked(request)
            assert masked.read_text(masked.messages[0].text) == OWN
        assert keyring.lookups == 1
        keyring.locked = False
        assert OWN in await Providers(catalog, SettingsFile(tmp_path), {}).secrets(), "an export asks once more"
        masked = await catalog.masked(request)
        assert masked.read_text(masked.messages[0].text) == "[known secret removed]"

    asyncio.run(run())


def test_exports_reviews_and_requests_know_the_same_secrets() -> None:
    added = Settings(providers=(Provider(name="mistral-proxy", url="https://proxy.example"),))
    environment = {"DEPLOY_TOKEN": "0ther-f0rmat-9x8y7z6w", "DB_PASSWORD": "postgres", "GROQ_API_KEY": "gr0q-key-9x8y"}
    keys = ApiKeys(environment, lambda: [MemoryKeyring()], frozenset({f"{__name__}.MemoryKeyring"}))
    catalog = ModelCatalog(lambda: added, keys, environment)
    keys.keep_in_memory(KeyOwner("search", "https://search.example"), "search-key-1")
    certain = asyncio.run(catalog.secrets(uncertain=False))
    assert {OWN, "0ther-f0rmat-9x8y7z6w", "gr0q-key-9x8y", "search-key-1"} <= set(certain)
    assert set(asyncio.run(catalog.secrets())) - set(certain) == {"postgres"}


def test_a_text_is_searched_once() -> None:
    mask = RequestMask()
    read: list[str] = []
    request = Request([Message("user", Text("a" * 50)), Message("user", Text(GITHUB))])
    for _ in range(3):
        masked = mask.apply(request)
        read += [masked.read_text(message.text) for message in masked.messages]
    assert read == ["a" * 50, "[GitHub token removed]"] * 3 and len(mask._results) == 2


def test_arguments_stay_valid_and_ordinary_requests_stay_as_they_are() -> None:
    mask = RequestMask()
    cut = json.dumps({"content": "-----BEGIN PRIVATE KEY-----\n" + "MIIEow" * 40, "path": "a.pem"})
    assert json.loads(mask.json_text(cut)) == {"content": "[private key removed]", "path": "a.pem"}
    assert json.loads(mask.json_text(json.dumps({"api_key": "0a1b2c3d4e5f60718293"})))["api_key"].endswith("removed]")
    plain = '{"b":  1, "a": ["x\\u00e9", null]}'
    assert mask.json_text(plain) == plain and mask.json_text('{"cut": "') == '{"cut": "'
    request = Request([Message("user", Text("Hello"))], tools=(ToolSpec("t", "Does it.", {"type": "object"}),))
    masked = mask.apply(request)
    assert masked.tools is request.tools and masked.messages == request.messages
    assert masked.read_text(request.messages[0].text) == "Hello"


def test_made_keys_do_not_leak() -> None:
    """A small version of `python -m tests.bench.masking`."""
    assert not list(find_leaks(len(FORMATS) * len(ENCODINGS)))
    assert not list(find_known_leaks(200))
