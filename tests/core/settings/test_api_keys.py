"""API keys: each keyring error has its message, no keyring can block, and no key appears in any text."""

import asyncio
import json
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from keyring.backend import KeyringBackend
from keyring.backends.chainer import ChainerBackend
from keyring.backends.fail import Keyring as Fail
from keyring.backends.null import Keyring as Null
from keyring.errors import InitError, KeyringLocked, NoKeyringError

from core.domain.problems import Problem
from core.settings.api_keys import ApiKey, ApiKeys, KeyOwner, system_keyrings

KEY = "sk-canary-0123456789abcdef"
OWNER = KeyOwner("openai", "https://api.openai.com:443", "OPENAI_API_KEY")
HERE = f"{__name__}.Good"


class Good(KeyringBackend):
    """A keyring that stores keys in memory."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kept: dict[tuple[str, str], str] = {}
        self.error: Exception | None = None
        self.gate: threading.Event | None = None
        self.asked = 0

    def get_password(self, service: str, username: str) -> str | None:
        self._meet()
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._meet()
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._meet()
        del self.kept[service, username]

    def _meet(self) -> None:
        self.asked += 1
        if self.gate:
            self.gate.wait(20)
        if self.error:
            raise self.error


class PlaintextKeyring(Good):
    """A keyring like those of `keyrings.alt`, which is not trusted."""


def secrets(*rings: Any, environment: dict[str, str] | None = None, limit_s: float = 5.0) -> ApiKeys:
    found: list[KeyringBackend] = list(rings)
    return ApiKeys(environment or {}, lambda: found, frozenset({HERE}), limit_s)


@pytest.fixture
def hanging() -> Iterator[Good]:
    ring = Good()
    ring.gate = threading.Event()
    yield ring
    ring.gate.set()


def test_a_key_is_stored_found_and_deleted() -> None:
    async def run() -> None:
        ring = Good()
        store = secrets(ring)
        assert (await store.find(OWNER)).source == ""
        assert (await store.save(OWNER, KEY)).source == "keyring"
        assert await secrets(ring).find(OWNER) == ApiKey(KEY, "keyring")
        assert await store.keyring_name() == HERE
        assert await store.delete(OWNER) and not await store.delete(OWNER)
        assert (await store.find(OWNER)).value == ""

    asyncio.run(run())


def test_s8_a_key_is_not_found_for_another_origin() -> None:
    """If the address of a provider changes, its key is not used for the new one."""

    async def run() -> None:
        store = secrets(Good())
        await store.save(OWNER, KEY)
        assert (await store.find(KeyOwner("openai", "https://evil.example:443"))).value == ""
        store.keep_in_memory(OWNER, KEY)
        assert (await store.find(KeyOwner("openai", "http://api.openai.com:80"))).value == ""

    asyncio.run(run())


def test_precedence_of_key_sources() -> None:
    """A key in memory takes precedence over the environment, and that over the keyring."""

    async def run() -> None:
        store = secrets(Good(), environment={"OPENAI_API_KEY": " of-the-environment "})
        await store.save(OWNER, KEY)
        assert await store.find(OWNER) == ApiKey("of-the-environment", "OPENAI_API_KEY")
        store.keep_in_memory(OWNER, "of-now")
        assert (await store.find(OWNER)).source == "session"
        assert (await store.find(KeyOwner("other", OWNER.origin))).source == ""

    asyncio.run(run())


@pytest.mark.parametrize(
    ("ring", "what", "why"),
    [
        (Fail(), "no keyring", "no secure keyring"),  # type: ignore[no-untyped-call]
        (Null(), "no secure keyring", "discards"),  # type: ignore[no-untyped-call]
        (PlaintextKeyring(), "no secure keyring", "as plain text"),
    ],
    ids=["none", "null", "plaintext"],
)
def test_s2_unusable_keyrings(ring: Any, what: str, why: str) -> None:
    """The error is reported, and the key is kept in memory only."""

    async def run() -> None:
        store = secrets(ring)
        kept = await store.save(OWNER, KEY)
        assert kept.source == "session" and kept.error is not None
        assert what in kept.error.message and why in kept.error.cause and "until you quit Journeyman" in kept.error.fix
        assert (await store.find(OWNER)).value == KEY
        if isinstance(ring, PlaintextKeyring):
            assert ring.kept == {}
        with pytest.raises(Problem, match="keyring"):
            await store.keyring_name()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (KeyringLocked("Failed to unlock the collection!"), "is locked"),
        (InitError("Failed to create the collection: Prompt dismissed.."), "still locked"),
        (NoKeyringError("No recommended backend"), "There is no keyring"),
        (OSError("the bus is gone"), "does not work"),
    ],
    ids=["locked", "dismissed", "none", "broken"],
)
def test_s2_failing_keyrings(error: Exception, what: str) -> None:
    async def run() -> None:
        ring = Good()
        ring.error = error
        found = await secrets(ring).find(OWNER)
        assert found.value == "" and found.error is not None and what in found.error.message

    asyncio.run(run())


def test_s2_a_keyring_that_never_answers_blocks_nothing(hanging: Good) -> None:
    """The error is reported after the time limit, and at once on later calls; the event loop is never blocked."""

    async def run() -> None:
        store = secrets(hanging, limit_s=0.2)
        finding, turns = asyncio.create_task(store.find(OWNER)), 0
        while not finding.done():
            await asyncio.sleep(0)
            turns += 1
        found, again = await finding, await store.find(OWNER)
        assert found.error == again.error and found.error is not None
        assert "does not respond" in found.error.message
        assert turns > 2, "the event loop was blocked by the keyring"
        assert hanging.asked == 1, "the keyring was accessed a second time"

    asyncio.run(run())


def test_s2_a_keyring_that_vanishes_during_a_run() -> None:
    """A key that was read before remains in use, and the error is reported."""

    async def run() -> None:
        ring = Good()
        store = secrets(ring)
        assert (await store.save(OWNER, KEY)).source == "keyring"
        ring.error = OSError("connection closed")
        assert (await store.find(OWNER)).error is not None
        kept = await store.save(OWNER, KEY)
        assert kept.source == "session" and (await store.find(OWNER)).value == KEY

    asyncio.run(run())


def test_a_chain_of_keyrings_is_unwrapped() -> None:
    """The first trusted keyring is used even if an untrusted one precedes it."""

    async def run() -> None:
        alt, good = PlaintextKeyring(), Good()
        await secrets(alt, good).save(OWNER, KEY)
        assert alt.kept == {} and list(good.kept.values()) == [KEY]

    asyncio.run(run())


def test_this_system_lists_its_keyrings(monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring

    before = keyring.get_keyring()
    try:
        keyring.set_keyring(ChainerBackend())  # type: ignore[no-untyped-call]
        assert isinstance(system_keyrings(), list)
        keyring.set_keyring(Fail())  # type: ignore[no-untyped-call]
        assert [type(ring) for ring in system_keyrings()] == [Fail]
    finally:
        keyring.set_keyring(before)


def test_s6_no_text_form_shows_a_key() -> None:
    """Checks repr, str, format, JSON, pickle and traceback."""

    async def run() -> None:
        store = secrets(Good(), environment={"OPENAI_API_KEY": KEY})
        found = await store.find(OWNER)
        store.keep_in_memory(OWNER, KEY)
        for thing in (store, found, OWNER, [found], {"key": found}):
            assert KEY not in repr(thing) and KEY not in f"{thing}"
            with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
                assert KEY not in pickle.dumps([thing, store]).decode("latin-1")
            with pytest.raises(TypeError):
                json.dumps(found)

    asyncio.run(run())


def test_a_key_of_the_environment_is_removed_from_requests_too() -> None:
    keys = secrets(environment={OWNER.variable: KEY})
    key = keys.find_without_keyring(OWNER)
    assert key and key.value in keys.seen
    assert repr(key) == f"ApiKey(source='{OWNER.variable}')" and repr(keys) == "ApiKeys(•••)"
