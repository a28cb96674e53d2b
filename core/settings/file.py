"""The file of settings: checked when it is read, whole or not there when it is written, what it does not know kept."""

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from core.domain.problems import Problem, Trouble
from core.settings.schema import FORM, Settings

FILE = "settings.json"
Listener = Callable[[Settings], None]


@dataclass(frozen=True, slots=True)
class Found:
    """What a file says; `plain` is all of it, `notes` what a person should be told."""

    settings: Settings
    plain: dict[str, Any]
    notes: tuple[Trouble, ...] = ()


class SettingsFile:
    """The settings in use, and the one way to change them."""

    def __init__(self, folder: Path, *, frozen: bool = False) -> None:
        self._path = folder / FILE
        self._frozen = frozen
        self._listeners: list[Listener] = []
        found = read(self._path, frozen=frozen)
        self.now, self.notes = found.settings, found.notes

    def change(self, **values: Any) -> Settings:
        """Check, write, then use them; a file that somebody else changed meanwhile keeps what we do not change."""
        if self._frozen:
            raise Problem("The settings cannot be written.", "The data folder was opened to look at.", "")
        found = read(self._path)
        new = checked(replace(found.settings, **values))
        # What could not be used stays in the file until a person sets it anew.
        plain = _merged(found.plain, {name: value for name, value in asdict(new).items() if name in values})
        _write(self._path, {**plain, "form": FORM})
        self.now, self.notes = new, found.notes
        for listener in tuple(self._listeners):
            listener(new)
        return new

    def check(self, **values: Any) -> None:
        """Raise a Problem for values that cannot be."""
        checked(replace(self.now, **values))

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Told after each change; the result ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)


def read(path: Path, *, frozen: bool = False) -> Found:
    """What the file says. One that cannot be read is set aside, never overwritten; a setting that cannot be used is
    as if it were not there."""
    try:
        plain = json.loads(path.read_bytes())
        if not isinstance(plain, dict):
            raise ValueError("it is not a list of names and values")
        form = plain.get("form", FORM)
        if not isinstance(form, int) or form > FORM:
            return _aside(
                path, "newer", f"It was written by a newer Journeyman (form {form}; this one reads {FORM}).", frozen
            )
    except FileNotFoundError:
        return Found(Settings(), {})
    except OSError as error:
        do = "Give yourself the right to read it."
        return Found(Settings(), {}, (Trouble("The settings cannot be read.", f"{path}: {error.strerror}.", do),))
    except (ValueError, RecursionError) as error:
        return _aside(path, "damaged", f"It is no settings file: {error}.", frozen)
    return _found(path, plain)


def checked(settings: Settings) -> Settings:
    """The settings, or a Problem that names the one that cannot be."""
    plain = asdict(settings)
    for one in fields(Settings):
        _value(one.name, plain[one.name])
    return settings


def _found(path: Path, plain: dict[str, Any]) -> Found:
    values: dict[str, Any] = {}
    notes: list[Trouble] = []
    for one in fields(Settings):
        if one.name in plain:
            try:
                values[one.name] = _value(one.name, plain[one.name])
            except Problem as problem:
                do = f"Set it anew, or correct {path}. Until then it is as at first."
                notes.append(Trouble(problem.trouble.what, problem.trouble.why, do))
    return Found(Settings(**values), plain, tuple(notes))


def _value(name: str, plain: Any) -> Any:
    """A value as its field wants it. Unknown keys inside of it are passed over."""
    from pydantic import ValidationError  # heavy; the window reads its settings before anything heavy is there

    from core.settings.checks import ADAPTERS, refuse_wrong

    try:
        value = ADAPTERS[name].validate_python(plain)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        said = f"{where}: {first['msg']}" if where else first["msg"]
        raise Problem(f"The setting “{name}” cannot be used.", f"{said}.", "") from None
    refuse_wrong(name, value)
    return value


def _merged(old: Any, new: Any) -> Any:
    """The new values, with what the old ones held that we know nothing of; things with a name are matched by it."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{name: _merged(old.get(name), value) for name, value in new.items()}}
    if isinstance(old, list) and isinstance(new, list | tuple):
        named = {_name(item): item for item in old if isinstance(item, dict)}
        return [_merged(named.get(_name(item)), item) if isinstance(item, dict) else item for item in new]
    return new


def _name(item: dict[str, Any]) -> Any:
    return item.get("name", item.get("model"))


def _aside(path: Path, word: str, why: str, frozen: bool) -> Found:
    what = "The settings could not be used."
    if frozen:
        return Found(Settings(), {}, (Trouble(what, why, f"The file is {path}."),))
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    names = (f"{path.name}.{word}-{stamp}" + (f"-{n}" if n else "") for n in range(1000))
    aside = next(path.with_name(name) for name in names if not path.with_name(name).exists())
    path.rename(aside)
    return Found(Settings(), {}, (Trouble(what, why, f"They are as at first now; the file is kept as {aside.name}."),))


def _write(path: Path, plain: dict[str, Any]) -> None:
    """Whole or not there, and for its owner's eyes."""
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(plain, file, indent=2, ensure_ascii=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        why = f"{path}: {error.strerror or error}."
        raise Problem(
            "The settings could not be written.", why, "Free some space or give yourself the right."
        ) from error
