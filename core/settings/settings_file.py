"""Reads the settings file, checks its values, and changes it without losing what this version does not know."""

import contextlib
import itertools
import json
import os
from collections.abc import Callable, Sequence
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
    """The settings in a file.

    Attributes:
        settings: the settings; those that are missing or invalid have their default values.
        raw: the JSON content of the file. None means that the file must not be replaced, because it could neither be
            read nor renamed.
        notes: errors in the file, for the user.
    """

    settings: Settings
    raw: dict[str, Any] | None
    notes: tuple[ErrorDetails, ...] = ()


class SettingsFile:
    """The current settings. They can only be changed with this class."""

    def __init__(self, folder: Path, *, frozen: bool = False) -> None:
        self._path = folder / FILE
        self._frozen = frozen
        self._listeners: list[Listener] = []
        loaded = read_settings(self._path, frozen=frozen)
        self.current = loaded.settings
        self.notes = loaded.notes

    def change(self, **values: Any) -> Settings:
        """Check the settings in `values`, write them to the file, and call the listeners. Return all settings.

        Everything else in the file stays as it is, even if another program changed it in the meantime. Raise Problem if
        a value is invalid, or if the file cannot be read or written. All listeners are called, even if one of them
        raises an exception.
        """
        if self._frozen:
            raise Problem("The settings cannot be changed.", "The data folder is open read-only.", "")
        loaded = read_settings(self._path)
        if loaded.raw is None:
            raise Problem.from_details(loaded.notes[0])
        changed = check_settings(replace(loaded.settings, **values))
        # Only the new values are written. An invalid value of another setting stays in the file until the user sets it.
        new_values = {name: value for name, value in asdict(changed).items() if name in values}
        content = _merge(loaded.raw, new_values)
        _write(self._path, {**content, "version": FORMAT_VERSION})
        self.current = changed
        self.notes = loaded.notes
        with contextlib.ExitStack() as calls:
            for listener in reversed(self._listeners):
                calls.callback(listener, changed)
        return changed

    def check(self, **values: Any) -> None:
        """Raise Problem if any of these values is invalid for its setting."""
        check_settings(replace(self.current, **values))

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Register `listener`, to be called with the settings after each change. Return a function to remove it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)


def read_settings(path: Path, *, frozen: bool = False) -> LoadedSettings:
    """Return the settings in a file. Errors are returned as notes.

    A damaged file, or one of a newer version, is renamed, so that it is not overwritten. With `frozen`, no file is
    renamed. An invalid setting has its default value until the user corrects it.
    """
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return LoadedSettings(Settings(), {})
    except OSError as error:
        fix = "Check the permissions of the file."
        note = ErrorDetails("The settings cannot be read.", f"{path}: {error.strerror}.", fix)
        return LoadedSettings(Settings(), None, (note,))
    except (ValueError, RecursionError) as error:
        return _set_aside(path, "damaged", f"It is not a valid settings file: {error}.", frozen=frozen)
    if not isinstance(content, dict):
        cause = "It is not a valid settings file: it is not a JSON object."
        return _set_aside(path, "damaged", cause, frozen=frozen)
    version = content.get("version", content.get("form", FORMAT_VERSION))  # Version 1 called it `form`.
    if not isinstance(version, int) or version > FORMAT_VERSION:
        cause = (
            f"It was written by a newer version of Journeyman (format {version}; this version reads {FORMAT_VERSION})."
        )
        return _set_aside(path, "newer", cause, frozen=frozen)
    is_current = version == FORMAT_VERSION and "form" not in content
    return _load_valid(path, content if is_current else renamed(content))


def check_settings(settings: Settings) -> Settings:
    """Return the settings. Raise Problem that names the first invalid one."""
    values = asdict(settings)
    for setting in fields(Settings):
        _validate(setting.name, values[setting.name])
    return settings


def _load_valid(path: Path, content: dict[str, Any]) -> LoadedSettings:
    values: dict[str, Any] = {}
    notes: list[ErrorDetails] = []
    for name in (setting.name for setting in fields(Settings)):
        if name not in content:
            continue
        try:
            values[name] = _validate(name, content[name])
        except Problem as problem:
            fix = f"Set it again, or correct `{name}` in {path}. Until then, its default is used."
            notes.append(ErrorDetails(problem.details.message, problem.details.cause, fix))
    return LoadedSettings(Settings(**values), content, tuple(notes))


def _validate(name: str, json_value: Any) -> Any:
    """Return a JSON value, converted to the type of the setting `name`. Unknown keys inside it are ignored.

    Raise Problem if it is invalid.
    """
    from pydantic import ValidationError  # This import is slow, and the window needs the settings before it opens.

    from core.settings.validation import ADAPTERS, check_value, invalid_setting

    try:
        value = ADAPTERS[name].validate_python(json_value)
    except ValidationError as error:
        first = error.errors()[0]
        location = ".".join(str(part) for part in first["loc"])
        cause = f"{location}: {first['msg']}" if location else first["msg"]
        raise invalid_setting(name, f"{cause}.") from None
    check_value(name, value)
    return value


def _merge(old: Any, new: Any) -> Any:
    """Return the JSON value `new` with the keys that only `old` has, in it and in all values inside it.

    Each dictionary in `new` was made from a dataclass and has all of its fields. If `old` has another key, it was not
    removed but is unknown to this version. The items of lists are matched by their names.
    """
    match old, new:
        case dict(), dict():
            return old | {name: _merge(old.get(name), value) for name, value in new.items()}
        case list(), list() | tuple():
            return _merge_items(old, new)
        case _:
            return new


def _merge_items(old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    old_items = {_item_key(item): item for item in old if isinstance(item, dict)}
    return [_merge(old_items.get(_item_key(item)), item) if isinstance(item, dict) else item for item in new]


def _item_key(item: dict[str, Any]) -> Any:
    """Return what identifies an item of a list: its name, or if it is a price, which has none, its model."""
    return item.get("name", item.get("model"))


def _set_aside(path: Path, suffix: str, cause: str, *, frozen: bool) -> LoadedSettings:
    """Rename a file that cannot be used, unless `frozen`, and return the default settings with a note."""
    message = "The settings could not be loaded."
    if frozen:
        return LoadedSettings(Settings(), {}, (ErrorDetails(message, cause, f"The file is {path}."),))
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    first = f"{path.name}.{suffix}-{stamp}"
    names = itertools.chain([first], (f"{first}-{number}" for number in itertools.count(1)))
    candidates = (path.with_name(name) for name in names)
    try:
        aside = next(candidate for candidate in candidates if not candidate.exists())
        path.rename(aside)
    except OSError as error:
        cause = f"{cause} It cannot be renamed: {error.strerror}."
        fix = f"Move {path} elsewhere, or check the permissions of the folder."
        return LoadedSettings(Settings(), None, (ErrorDetails(message, cause, fix),))
    fix = f"The defaults are used now; the file was renamed to {aside.name}."
    return LoadedSettings(Settings(), {}, (ErrorDetails(message, cause, fix),))


def _write(path: Path, content: dict[str, Any]) -> None:
    """Replace the file in one step, readable by its owner only. Names of files that are not valid UTF-8 are kept."""
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
        cause = f"{path}: {error.strerror or error}."
        fix = "Free some space, or check the permissions of the folder."
        raise Problem("The settings could not be written.", cause, fix) from error
