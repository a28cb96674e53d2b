"""The settings file: validated when read, written atomically, with unknown content preserved."""

import contextlib
import itertools
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from core.domain.problems import ErrorDetails, Problem
from core.settings.former_names import renamed
from core.settings.schema import FORMAT_VERSION, Settings

FILE = "settings.json"
Listener = Callable[[Settings], None]


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The contents of a settings file.

    Attributes:
        raw: its decoded JSON; None if the file exists but can neither be read nor set aside. It must not be replaced.
        notes: messages for the user.
    """

    settings: Settings
    raw: dict[str, Any] | None
    notes: tuple[ErrorDetails, ...] = ()


class SettingsFile:
    """The current settings, and the only way to change them."""

    def __init__(self, folder: Path, *, frozen: bool = False) -> None:
        self._path = folder / FILE
        self._frozen = frozen
        self._listeners: list[Listener] = []
        loaded = read_settings(self._path, frozen=frozen)
        self.current, self.notes = loaded.settings, loaded.notes

    def change(self, **values: Any) -> Settings:
        """Validate settings, write them to the file, and notify the listeners.

        Everything else in the file is preserved, even if another program changed it meanwhile. Raise Problem if the
        file cannot be read or written. All listeners are notified, even if one of them raises an exception.
        """
        if self._frozen:
            raise Problem("The settings cannot be changed.", "The data folder is open read-only.", "")
        loaded = read_settings(self._path)
        if loaded.raw is None:
            raise Problem.from_details(loaded.notes[0])
        new = check_settings(replace(loaded.settings, **values))
        # An invalid value stays in the file until the user sets a new one.
        content = _merge(loaded.raw, {name: value for name, value in asdict(new).items() if name in values})
        _write(self._path, {**content, "version": FORMAT_VERSION})
        self.current, self.notes = new, loaded.notes
        with contextlib.ExitStack() as calls:
            for listener in reversed(self._listeners):
                calls.callback(listener, new)
        return new

    def check(self, **values: Any) -> None:
        """Raise a Problem if any of these values is invalid."""
        check_settings(replace(self.current, **values))

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` after each change. Return a function that removes the listener."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)


def read_settings(path: Path, *, frozen: bool = False) -> LoadedSettings:
    """Read a settings file. Errors are reported as notes.

    A damaged file, or one of a newer version, is renamed instead of overwritten; with `frozen` nothing is renamed. An
    invalid setting has its default value until the user corrects it.
    """
    try:
        content = json.loads(path.read_bytes())
        if not isinstance(content, dict):
            raise ValueError("it is not a JSON object")
        version = content.get("version", content.get("form", FORMAT_VERSION))  # version 1 called it `form`
        if not isinstance(version, int) or version > FORMAT_VERSION:
            return _set_aside(
                path,
                "newer",
                f"It was written by a newer version of Journeyman (format {version}; this version reads"
                f" {FORMAT_VERSION}).",
                frozen,
            )
    except FileNotFoundError:
        return LoadedSettings(Settings(), {})
    except OSError as error:
        fix = "Check the permissions of the file."
        note = ErrorDetails("The settings cannot be read.", f"{path}: {error.strerror}.", fix)
        return LoadedSettings(Settings(), None, (note,))
    except (ValueError, RecursionError) as error:
        return _set_aside(path, "damaged", f"It is not a valid settings file: {error}.", frozen)
    is_current = version == FORMAT_VERSION and "form" not in content
    return _load_valid(path, content if is_current else renamed(content))


def check_settings(settings: Settings) -> Settings:
    """Return the settings, or raise a Problem that names the invalid one."""
    values = asdict(settings)
    for setting in fields(Settings):
        _validate(setting.name, values[setting.name])
    return settings


def _load_valid(path: Path, content: dict[str, Any]) -> LoadedSettings:
    values: dict[str, Any] = {}
    notes: list[ErrorDetails] = []
    for setting in fields(Settings):
        if setting.name in content:
            try:
                values[setting.name] = _validate(setting.name, content[setting.name])
            except Problem as problem:
                fix = f"Set it again, or correct {path}. Until then, its default is used."
                notes.append(ErrorDetails(problem.details.message, problem.details.cause, fix))
    return LoadedSettings(Settings(**values), content, tuple(notes))


def _validate(name: str, json_value: Any) -> Any:
    """Convert a JSON value to the type of its field. Unknown keys inside it are ignored."""
    from pydantic import ValidationError  # slow to import, and the window reads its settings first

    from core.settings.validation import ADAPTERS, check_value

    try:
        value = ADAPTERS[name].validate_python(json_value)
    except ValidationError as error:
        first = error.errors()[0]
        location = ".".join(str(part) for part in first["loc"])
        cause = f"{location}: {first['msg']}" if location else first["msg"]
        raise Problem(f"The setting “{name}” is invalid.", f"{cause}.", "") from None
    check_value(name, value)
    return value


def _merge(old: Any, new: Any) -> Any:
    """Return `new` with the keys that only `old` has, at every depth. List items are matched by their names.

    Every dictionary in `new` is a dataclass with all its fields, so such a key is unknown to this version, not removed.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{name: _merge(old.get(name), value) for name, value in new.items()}}
    if isinstance(old, list) and isinstance(new, list | tuple):
        old_items = {_item_key(item): item for item in old if isinstance(item, dict)}
        return [_merge(old_items.get(_item_key(item)), item) if isinstance(item, dict) else item for item in new]
    return new


def _item_key(item: dict[str, Any]) -> Any:
    """Return what identifies an item of a list: every kind has a name, except prices, which have a model."""
    return item.get("name", item.get("model"))


def _set_aside(path: Path, suffix: str, cause: str, frozen: bool) -> LoadedSettings:
    message = "The settings could not be loaded."
    if frozen:
        return LoadedSettings(Settings(), {}, (ErrorDetails(message, cause, f"The file is {path}."),))
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    first = f"{path.name}.{suffix}-{stamp}"
    names = (first if number == 0 else f"{first}-{number}" for number in itertools.count())
    try:
        aside = next(path.with_name(name) for name in names if not path.with_name(name).exists())
        path.rename(aside)
    except OSError as error:
        cause = f"{cause} It cannot be renamed: {error.strerror}."
        fix = f"Move {path} elsewhere, or check the permissions of the folder."
        return LoadedSettings(Settings(), None, (ErrorDetails(message, cause, fix),))
    fix = f"The defaults are used now; the file was renamed to {aside.name}."
    return LoadedSettings(Settings(), {}, (ErrorDetails(message, cause, fix),))


def _write(path: Path, content: dict[str, Any]) -> None:
    """Replace the file atomically, readable for its owner only. File names that are not valid UTF-8 are kept."""
    temporary = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.unlink(missing_ok=True)
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass") as file:
            json.dump(content, file, indent=2, ensure_ascii=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        why = f"{path}: {error.strerror or error}."
        raise Problem(
            "The settings could not be written.", why, "Free some space, or check the permissions of the folder."
        ) from error
