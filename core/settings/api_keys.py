"""API keys: in the system's keyring, in environment variables, or in memory until Journeyman quits; never in a file."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from core.domain.problems import ErrorDetails, Problem

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend as Keyring

SERVICE = "journeyman"
TIMEOUT_S = 5.0  # Without a timeout, a keyring whose service does not respond would block forever.
# The classes of the keyrings of operating systems. Other keyrings store keys as plain text, or not at all.
TRUSTED_KEYRINGS = frozenset(
    {
        "keyring.backends.SecretService.Keyring",
        "keyring.backends.libsecret.Keyring",
        "keyring.backends.kwallet.DBusKeyring",
        "keyring.backends.kwallet.DBusKeyringKWallet4",
        "keyring.backends.macOS.Keyring",
        "keyring.backends.Windows.WinVaultKeyring",
    }
)
NO_KEYRING = "API keys are kept in memory until you quit Journeyman. You can also set an environment variable."
# A user name that is never stored. Reading its password shows whether the keyring responds.
PROBE_USER = "is anybody there"
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key and where it was found; both are empty if there is none.

    Attributes:
        source: `keyring`, `session` if it is kept in memory, or the name of an environment variable.
        error: why the keyring could not be used.
    """

    value: str = ""
    source: str = ""
    error: ErrorDetails | None = None

    def __repr__(self) -> str:
        return f"ApiKey(source={self.source!r})"

    def __reduce__(self) -> str:
        raise TypeError("an API key cannot be pickled")


@dataclass(frozen=True, slots=True)
class _Outcome(Generic[Result]):
    """What an operation on the keyring returned, or the Problem that prevented it."""

    result: Result | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class KeyOwner:
    """What an API key is for.

    Attributes:
        name: the name of the provider.
        origin: the scheme, host and port of its address. The key is sent to no other.
        variable: the name of the environment variable that may hold the key; empty for none.
    """

    name: str
    origin: str
    variable: str = ""


class ApiKeys:
    """Finds and stores API keys.

    Args:
        environment: the environment variables.
        keyrings: returns the system's keyrings, the preferred one first.
        trusted: the full names of the keyring classes that may be used.

    Attributes:
        seen: all keys that were found or stored so far. They are removed from requests to models.
        lookup_failed: whether finding a key in the keyring failed, and nothing with the keyring has succeeded since.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        keyrings: Callable[[], Sequence["Keyring"]] | None = None,
        trusted: frozenset[str] = TRUSTED_KEYRINGS,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._environment = environment
        self._keyrings = keyrings or system_keyrings
        self._trusted = trusted
        self._timeout_s = timeout_s
        self._session: dict[tuple[str, str], str] = {}
        self.seen: set[str] = set()
        self.lookup_failed = False
        self._stuck_thread: threading.Thread | None = None

    def __repr__(self) -> str:
        return "ApiKeys(•••)"

    async def find(self, owner: KeyOwner) -> ApiKey:
        """Return the key for `owner`: from memory, else from the environment, else from the keyring."""
        if key := self.find_without_keyring(owner):
            return key
        user = _user_name(owner)
        try:
            value = await self._run(lambda keyring: keyring.get_password(SERVICE, user))
        except Problem as problem:
            self.lookup_failed = True
            return ApiKey(error=problem.details)
        if not value:
            return ApiKey()
        self.seen.add(value)
        return ApiKey(value, "keyring")

    async def look_up(self, owners: Sequence[KeyOwner]) -> bool:
        """Add the keys for all `owners` that are in the keyring to `seen`. Return False if the keyring failed."""

        def read_passwords(keyring: "Keyring") -> None:
            for owner in owners:
                if value := keyring.get_password(SERVICE, _user_name(owner)):
                    self.seen.add(value)

        try:
            await self._run(read_passwords)
        except Problem:
            self.lookup_failed = True
        return not self.lookup_failed

    def find_without_keyring(self, owner: KeyOwner) -> ApiKey | None:
        """Return the key from memory, else from the environment. Return None if it is in neither."""
        if value := self._session.get((owner.name, owner.origin)):
            return ApiKey(value, "session")
        if owner.variable and (value := self._environment.get(owner.variable, "").strip()):
            self.seen.add(value)
            return ApiKey(value, owner.variable)
        return None

    async def save(self, owner: KeyOwner, value: str) -> ApiKey:
        """Store a key in the keyring, or in memory if that fails. The result says where, and why not in the keyring."""
        self.seen.add(value)
        user = _user_name(owner)
        try:
            await self._run(lambda keyring: keyring.set_password(SERVICE, user, value))
            stored = await self._run(lambda keyring: keyring.get_password(SERVICE, user))
        except Problem as problem:
            return self.keep_in_memory(owner, value, problem.details)
        if stored != value:
            cause = "The keyring did not return the key it was given."
            return self.keep_in_memory(owner, value, ErrorDetails("The API key could not be saved.", cause, NO_KEYRING))
        self._session.pop((owner.name, owner.origin), None)
        return ApiKey(value, "keyring")

    def keep_in_memory(self, owner: KeyOwner, value: str, error: ErrorDetails | None = None) -> ApiKey:
        """Keep a key in memory until Journeyman quits. `error` is why it is not stored in the keyring."""
        self.seen.add(value)
        self._session[owner.name, owner.origin] = value
        return ApiKey(value, "session", error)

    async def delete(self, owner: KeyOwner) -> bool:
        """Delete a key from memory and from the keyring. Return whether there was one."""
        was_in_memory = self._session.pop((owner.name, owner.origin), None) is not None
        user = _user_name(owner)

        def delete_from(keyring: "Keyring") -> bool:
            if keyring.get_password(SERVICE, user) is None:
                return False
            keyring.delete_password(SERVICE, user)
            return True

        try:
            was_in_keyring = await self._run(delete_from)
        except Problem:
            if was_in_memory:
                return True
            raise
        return was_in_keyring or was_in_memory

    async def keyring_name(self) -> str:
        """Return the class name of the keyring in use. Raise Problem if no trusted keyring responds."""

        def name_if_responding(keyring: "Keyring") -> str:
            keyring.get_password(SERVICE, PROBE_USER)
            return _class_name(keyring)

        return await self._run(name_if_responding)

    async def _run(self, operation: Callable[["Keyring"], Result]) -> Result:
        """Run `operation` on the first trusted keyring in a separate thread. Raise Problem if it fails.

        If it does not return in time, the thread is left alone. While it is still blocked, no other operation is
        started.
        """
        if self._stuck_thread and self._stuck_thread.is_alive():
            raise _not_responding(self._timeout_s)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()

        def deliver(outcome: _Outcome[Result]) -> None:
            if future.done():  # The timeout has canceled it.
                return
            if outcome.problem:
                future.set_exception(outcome.problem)
            else:
                future.set_result(outcome.result)  # type: ignore[arg-type]  # None is a result too

        def work() -> None:
            outcome = _run_on_keyring(operation, self._keyrings, self._trusted)
            with contextlib.suppress(RuntimeError):  # RuntimeError: the event loop was closed in the meantime.
                loop.call_soon_threadsafe(deliver, outcome)

        thread = threading.Thread(target=work, name="keyring", daemon=True)
        thread.start()
        try:
            async with asyncio.timeout(self._timeout_s):
                result = await future
        except TimeoutError:
            self._stuck_thread = thread
            raise _not_responding(self._timeout_s) from None
        self.lookup_failed = False
        return result


def system_keyrings() -> "list[Keyring]":
    """Return the keyrings that the library `keyring` finds, the preferred one first."""
    import keyring  # This import is slow.
    from keyring.backends.chainer import ChainerBackend

    preferred = keyring.get_keyring()
    return list(preferred.backends) if isinstance(preferred, ChainerBackend) else [preferred]


def _run_on_keyring(
    operation: Callable[["Keyring"], Result], list_keyrings: Callable[[], Sequence["Keyring"]], trusted: frozenset[str]
) -> _Outcome[Result]:
    """Run an operation on the first trusted keyring.

    All exceptions become Problems, because a keyring may raise any of them.
    """
    try:
        keyrings = list_keyrings()
        keyring = next((keyring for keyring in keyrings if _class_name(keyring) in trusted), None)
        if keyring is None:
            return _Outcome(problem=_no_trusted_keyring(keyrings))
        return _Outcome(operation(keyring))
    except Exception as error:
        return _Outcome(problem=_keyring_error(error))


def _class_name(keyring: "Keyring") -> str:
    """Return the full name of a keyring's class, in the form of those in TRUSTED_KEYRINGS."""
    return f"{type(keyring).__module__}.{type(keyring).__qualname__}"


def _no_trusted_keyring(keyrings: Sequence["Keyring"]) -> Problem:
    names = [_class_name(keyring) for keyring in keyrings]
    if all(name.startswith(("keyring.backends.fail.", "keyring.backends.chainer.")) for name in names):
        return Problem("There is no keyring.", "This system has no secure keyring.", NO_KEYRING)
    if any("null" in name for name in names):
        cause = f"{names[0]} discards the keys it is given."
    else:
        cause = f"{names[0]} is not a secure keyring: it may store keys as plain text."
    return Problem("There is no secure keyring.", cause, NO_KEYRING)


def _keyring_error(error: Exception) -> Problem:
    """Return the Problem that explains an exception of the library `keyring`.

    Its classes are recognized by name, so that the library need not be imported.
    """
    message = str(error) or type(error).__name__
    kind = type(error).__name__
    if kind == "NoKeyringError":
        return Problem("There is no keyring.", "This system has no secure keyring.", NO_KEYRING)
    if "dismissed" in message.lower():
        return Problem(
            "The keyring is still locked.", "Its prompt was dismissed.", f"Unlock it and try again. {NO_KEYRING}"
        )
    if kind in ("KeyringLocked", "LockedException"):
        return Problem("The keyring is locked.", f"{message}.", f"Unlock it and try again. {NO_KEYRING}")
    return Problem("The keyring does not work.", f"{kind}: {message}.", NO_KEYRING)


def _not_responding(timeout_s: float) -> Problem:
    return Problem("The keyring does not respond.", f"It did not respond within {timeout_s:g} s.", NO_KEYRING)


def _user_name(owner: KeyOwner) -> str:
    """Return the user name under which a key is stored in the keyring.

    It includes the origin. If the provider's address changes, the key of the old address is not found and not sent.
    """
    return f"{owner.name} {owner.origin}"
