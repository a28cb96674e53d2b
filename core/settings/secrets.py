"""Keys: in the keyring of the system, in the environment, or known to this process only; never in a file of ours."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from core.domain.problems import Problem, Trouble

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend as Keyring

SERVICE = "journeyman"
LIMIT_S = 5.0  # a keyring whose service does not answer would keep us for ever
TRUSTED = frozenset(  # the keyrings of systems; others keep keys as text, or throw them away
    {
        "keyring.backends.SecretService.Keyring",
        "keyring.backends.libsecret.Keyring",
        "keyring.backends.kwallet.DBusKeyring",
        "keyring.backends.kwallet.DBusKeyringKWallet4",
        "keyring.backends.macOS.Keyring",
        "keyring.backends.Windows.WinVaultKeyring",
    }
)
NO_KEYRING = "Keys are kept until Journeyman ends, or given by an environment variable."
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Key:
    """A key and where it is from: `keyring`, `session`, or the name of an environment variable; empty is none.

    `trouble` is why the keyring could not be asked.
    """

    value: str = ""
    source: str = ""
    trouble: Trouble | None = None

    def __repr__(self) -> str:
        return f"Key(source={self.source!r})"

    def __reduce__(self) -> str:
        raise TypeError("a key is not written down")


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose key it is: the provider, the one origin it may be sent to, and the variable that may hold it."""

    name: str
    origin: str
    variable: str = ""


class Secrets:
    """Finds and keeps keys. `keyrings` gives those of the system, the preferred first."""

    def __init__(
        self,
        environment: Mapping[str, str],
        keyrings: Callable[[], Sequence["Keyring"]] | None = None,
        trusted: frozenset[str] = TRUSTED,
        limit_s: float = LIMIT_S,
    ) -> None:
        self._environment = environment
        self._keyrings = keyrings or of_this_system
        self._trusted = trusted
        self._limit_s = limit_s
        self._session: dict[tuple[str, str], str] = {}
        self._stuck: threading.Thread | None = None

    def __repr__(self) -> str:
        return "Secrets(•••)"

    async def find(self, owner: Owner) -> Key:
        """The key of a provider: this session's, then the environment's, then the keyring's."""
        if found := self.at_hand(owner):
            return found
        try:
            value = await self._ask(lambda ring: ring.get_password(SERVICE, _user(owner)))
        except Problem as problem:
            return Key(trouble=problem.trouble)
        return Key(value, "keyring") if value else Key()

    def at_hand(self, owner: Owner) -> Key | None:
        """A key that needs no keyring."""
        if value := self._session.get((owner.name, owner.origin)):
            return Key(value, "session")
        if owner.variable and (value := self._environment.get(owner.variable, "").strip()):
            return Key(value, owner.variable)
        return None

    async def keep(self, owner: Owner, value: str) -> Key:
        """Keep a key in the keyring; where there is none, until this process ends, and say why."""
        try:
            await self._ask(lambda ring: ring.set_password(SERVICE, _user(owner), value))
            kept = await self._ask(lambda ring: ring.get_password(SERVICE, _user(owner)))
        except Problem as problem:
            return self.keep_for_now(owner, value, problem.trouble)
        if kept != value:
            why = "The keyring did not give back what it was given."
            return self.keep_for_now(owner, value, Trouble("The key could not be kept.", why, NO_KEYRING))
        self._session.pop((owner.name, owner.origin), None)
        return Key(value, "keyring")

    def keep_for_now(self, owner: Owner, value: str, trouble: Trouble | None = None) -> Key:
        """Until this process ends."""
        self._session[owner.name, owner.origin] = value
        return Key(value, "session", trouble)

    async def forget(self, owner: Owner) -> bool:
        """Take a key out of the session and the keyring; whether there was one."""
        was = self._session.pop((owner.name, owner.origin), None) is not None

        def delete(ring: "Keyring") -> bool:
            if ring.get_password(SERVICE, _user(owner)) is None:
                return False
            ring.delete_password(SERVICE, _user(owner))
            return True

        try:
            return await self._ask(delete) or was
        except Problem:
            if was:
                return True
            raise

    async def state(self) -> str:
        """The name of the keyring in use. Raises Problem where there is none that can be trusted and answers."""
        return await self._ask(lambda ring: _name(ring, answers=True))

    async def _ask(self, question: Callable[["Keyring"], Result]) -> Result:
        """Ask the keyring in a thread of its own, which is left behind where it never ends."""
        if self._stuck and self._stuck.is_alive():
            raise _hanging(self._limit_s)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Result] = loop.create_future()

        def tell(result: Result | None, error: Problem | None) -> None:
            if answer.done():
                return
            if error:
                answer.set_exception(error)
            else:
                answer.set_result(result)  # type: ignore[arg-type]  # None is a result too

        def work() -> None:
            result, error = _answered(question, self._keyrings, self._trusted)
            with contextlib.suppress(RuntimeError):  # the loop ended, and with it whoever asked
                loop.call_soon_threadsafe(tell, result, error)

        thread = threading.Thread(target=work, name="keyring", daemon=True)
        thread.start()
        try:
            async with asyncio.timeout(self._limit_s):
                return await answer
        except TimeoutError:
            self._stuck = thread
            raise _hanging(self._limit_s) from None


def of_this_system() -> "list[Keyring]":
    """What the library finds, in its order; a chain of several is taken apart."""
    import keyring  # heavy, and asked only here
    from keyring.backends.chainer import ChainerBackend

    chosen = keyring.get_keyring()
    return list(chosen.backends) if isinstance(chosen, ChainerBackend) else [chosen]


def _answered(
    question: Callable[["Keyring"], Result], keyrings: Callable[[], Sequence["Keyring"]], trusted: frozenset[str]
) -> tuple[Result | None, Problem | None]:
    """An answer, or the words for why there is none. What keyrings raise is up to their makers."""
    try:
        found = list(keyrings())
        ring = next((ring for ring in found if _name(ring) in trusted), None)
        if ring is None:
            return None, _untrusted(found)
        return question(ring), None
    except Exception as error:
        return None, _refused(error)


def _name(ring: "Keyring", *, answers: bool = False) -> str:
    if answers:
        ring.get_password(SERVICE, "is anybody there")
    return f"{type(ring).__module__}.{type(ring).__qualname__}"


def _untrusted(found: Sequence["Keyring"]) -> Problem:
    names = [_name(ring) for ring in found]
    if all(name.startswith(("keyring.backends.fail.", "keyring.backends.chainer.")) for name in names):
        return Problem("There is no keyring.", "This system offers none that keeps keys safe.", NO_KEYRING)
    if any("null" in name for name in names):
        why = f"{names[0]} throws away what it is given."
    else:
        why = f"{names[0]} is none that keeps keys safe; such ones write them down as text."
    return Problem("There is no keyring to trust.", why, NO_KEYRING)


def _refused(error: Exception) -> Problem:
    """By the names of the library's errors: its class need not be loaded to be told apart."""
    words = str(error) or type(error).__name__
    kind = type(error).__name__
    if kind == "NoKeyringError":
        return Problem("There is no keyring.", "This system offers none that keeps keys safe.", NO_KEYRING)
    if "dismissed" in words.lower():
        return Problem(
            "The keyring stayed locked.", "Its prompt was dismissed.", f"Unlock it and try again. {NO_KEYRING}"
        )
    if kind in ("KeyringLocked", "LockedException"):
        return Problem("The keyring is locked.", f"{words}.", f"Unlock it and try again. {NO_KEYRING}")
    return Problem("The keyring does not work.", f"{kind}: {words}.", NO_KEYRING)


def _hanging(limit_s: float) -> Problem:
    return Problem("The keyring does not answer.", f"Nothing came within {limit_s:g} s.", NO_KEYRING)


def _user(owner: Owner) -> str:
    """A key belongs to one origin: under another address it is not found, and so never sent there."""
    return f"{owner.name} {owner.origin}"
