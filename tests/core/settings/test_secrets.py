"""Keys: each kind of keyring has its words, none can hold us up, and no key shows in any text."""

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
from core.settings.secrets import Key, Owner, Secrets, of_this_system

KEY = "sk-canary-0123456789abcdef"
OWNER = Owner("openai", "https://api.openai.com:443", "OPENAI_API_KEY")
HERE = f"{__name__}.Good"


class Good(KeyringBackend):
    """Keeps keys in memory, as a system's keyring keeps them."""

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
    """As `keyrings.alt` has it; not on the list."""


def secrets(*rings: Any, environment: dict[str, str] | None = None, limit_s: float = 5.0) -> Secrets:
    found: list[KeyringBackend] = list(rings)
    return Secrets(environment or {}, lambda: found, frozenset({HERE}), limit_s)


@pytest.fixture
def hanging() -> Iterator[Good]:
    ring = Good()
    ring.gate = threading.Event()
    yield ring
    ring.gate.set()


def test_a_key_is_kept_and_found_and_forgotten() -> None:
    async def run() -> None:
        ring = Good()
        store = secrets(ring)
        assert (await store.find(OWNER)).source == ""
        assert (await store.keep(OWNER, KEY)).source == "keyring"
        assert await secrets(ring).find(OWNER) == Key(KEY, "keyring")
        assert await store.state() == HERE
        assert await store.forget(OWNER) and not await store.forget(OWNER)
        assert (await store.find(OWNER)).value == ""

    asyncio.run(run())


def test_s8_a_key_is_not_found_for_another_origin() -> None:
    """The address of a server was changed: its key stays with the old one."""

    async def run() -> None:
        store = secrets(Good())
        await store.keep(OWNER, KEY)
        assert (await store.find(Owner("openai", "https://evil.example:443"))).value == ""
        store.keep_for_now(OWNER, KEY)
        assert (await store.find(Owner("openai", "http://api.openai.com:80"))).value == ""

    asyncio.run(run())


def test_what_goes_first() -> None:
    """This session's key, then the environment's, then the keyring's."""

    async def run() -> None:
        store = secrets(Good(), environment={"OPENAI_API_KEY": " of-the-environment "})
        await store.keep(OWNER, KEY)
        assert await store.find(OWNER) == Key("of-the-environment", "OPENAI_API_KEY")
        store.keep_for_now(OWNER, "of-now")
        assert (await store.find(OWNER)).source == "session"
        assert (await store.find(Owner("other", OWNER.origin))).source == ""

    asyncio.run(run())


@pytest.mark.parametrize(
    ("ring", "what", "why"),
    [
        (Fail(), "no keyring", "offers none"),  # type: ignore[no-untyped-call]
        (Null(), "no keyring to trust", "throws away"),  # type: ignore[no-untyped-call]
        (PlaintextKeyring(), "no keyring to trust", "as text"),
    ],
    ids=["none", "null", "plaintext"],
)
def test_s2_keyrings_that_are_none(ring: Any, what: str, why: str) -> None:
    """Said, and the key is known to this process only."""

    async def run() -> None:
        store = secrets(ring)
        kept = await store.keep(OWNER, KEY)
        assert kept.source == "session" and kept.trouble is not None
        assert what in kept.trouble.what and why in kept.trouble.why and "until Journeyman ends" in kept.trouble.do
        assert (await store.find(OWNER)).value == KEY
        if isinstance(ring, PlaintextKeyring):
            assert ring.kept == {}
        with pytest.raises(Problem, match="keyring"):
            await store.state()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (KeyringLocked("Failed to unlock the collection!"), "is locked"),
        (InitError("Failed to create the collection: Prompt dismissed.."), "stayed locked"),
        (NoKeyringError("No recommended backend"), "There is no keyring"),
        (OSError("the bus is gone"), "does not work"),
    ],
    ids=["locked", "dismissed", "none", "broken"],
)
def test_s2_keyrings_that_refuse(error: Exception, what: str) -> None:
    async def run() -> None:
        ring = Good()
        ring.error = error
        found = await secrets(ring).find(OWNER)
        assert found.value == "" and found.trouble is not None and what in found.trouble.what

    asyncio.run(run())


def test_s2_a_keyring_that_never_answers_holds_up_nobody(hanging: Good) -> None:
    """Said after the limit, and at once from then on; the loop goes on meanwhile."""

    async def run() -> None:
        store = secrets(hanging, limit_s=0.2)
        finding, turns = asyncio.create_task(store.find(OWNER)), 0
        while not finding.done():
            await asyncio.sleep(0)
            turns += 1
        found, again = await finding, await store.find(OWNER)
        assert found.trouble == again.trouble and found.trouble is not None
        assert "does not answer" in found.trouble.what
        assert turns > 2, "the loop stood still for the keyring"
        assert hanging.asked == 1, "it was waited for once more"

    asyncio.run(run())


def test_s2_a_keyring_that_vanishes_in_mid_run() -> None:
    """The key in hand is used on; the loss has its words."""

    async def run() -> None:
        ring = Good()
        store = secrets(ring)
        assert (await store.keep(OWNER, KEY)).source == "keyring"
        ring.error = OSError("connection closed")
        assert (await store.find(OWNER)).trouble is not None
        kept = await store.keep(OWNER, KEY)
        assert kept.source == "session" and (await store.find(OWNER)).value == KEY

    asyncio.run(run())


def test_a_chain_of_keyrings_is_taken_apart() -> None:
    """The first that is trusted is used, though one that is not comes first."""

    async def run() -> None:
        alt, good = PlaintextKeyring(), Good()
        await secrets(alt, good).keep(OWNER, KEY)
        assert alt.kept == {} and list(good.kept.values()) == [KEY]

    asyncio.run(run())


def test_this_system_offers_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring

    before = keyring.get_keyring()
    try:
        keyring.set_keyring(ChainerBackend())  # type: ignore[no-untyped-call]
        assert isinstance(of_this_system(), list)
        keyring.set_keyring(Fail())  # type: ignore[no-untyped-call]
        assert [type(ring) for ring in of_this_system()] == [Fail]
    finally:
        keyring.set_keyring(before)


def test_s6_no_text_of_them_shows_a_key() -> None:
    """repr, str, format, JSON, pickle, traceback."""

    async def run() -> None:
        store = secrets(Good(), environment={"OPENAI_API_KEY": KEY})
        found = await store.find(OWNER)
        store.keep_for_now(OWNER, KEY)
        for thing in (store, found, OWNER, [found], {"key": found}):
            assert KEY not in repr(thing) and KEY not in f"{thing}"
            with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
                assert KEY not in pickle.dumps([thing, store]).decode("latin-1")
            with pytest.raises(TypeError):
                json.dumps(found)

    asyncio.run(run())
