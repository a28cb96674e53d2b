"""Lists, writes and removes the files of the agent profiles."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

from core.domain.problems import Problem
from core.engine.prompting.profiles import (
    FOLDER,
    MAX_NAME_LENGTH,
    NAME,
    AgentProfile,
    LearningRules,
    load_profile,
    parse_profile,
)

PROFILE_KEYS = (
    "name",
    "description",
    "role",
    "instructions",
    "traits",
    "actions",
    "constraints",
    "tools",
    "tier",
    "model",
)
LEARN_KEYS = ("may", "never", "least")
_COMMENT = re.compile(r"^\s*#|\s#", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """The file of an agent profile.

    Attributes:
        name: the name of the file without `.toml`, by which runs refer to the profile.
        text: the contents when the file was read, to detect later changes.
        profile: None if the file is invalid; then `error` says why.
    """

    name: str
    path: Path
    text: str = ""
    profile: AgentProfile | None = None
    error: str = ""

    @property
    def has_comments(self) -> bool:
        """Whether the file may contain comments, which `ProfileFiles.replace` would delete."""
        return bool(_COMMENT.search(self.text))


class ProfileFiles:
    """The agent profiles of a data folder. Changes take effect in the next run that uses the profile."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def list(self) -> list[ProfileFile]:
        """Return all profiles, the invalid ones included, by name."""
        return [self._read(path) for path in sorted((self._home / FOLDER).glob("*.toml"))]

    def find(self, name: str) -> ProfileFile | None:
        """Return the profile with a name; None if there is none."""
        return next((file for file in self.list() if file.name == name), None)

    def add(self, name: str, profile: AgentProfile) -> None:
        """Write a new profile.

        Raise Problem, and write nothing, if the name or the profile is not valid, or if a profile has the name.
        """
        text = _checked_toml(name, profile)
        path = self._path(name)
        if path.exists():
            raise Problem(f"There is an agent profile {name!r} already.", "", "Choose another name, or edit that one.")
        self._write(path, text)

    def replace(self, opened: ProfileFile, profile: AgentProfile) -> None:
        """Write a changed profile into the file `opened`.

        Raise Problem, and write nothing, if the profile is not valid, or if the file has changed since it was opened.
        """
        text = _checked_toml(opened.name, profile)
        if self._read(opened.path).text != opened.text:
            fix = "Close this window and edit the profile again."
            raise Problem("The profile was changed or removed meanwhile.", f"{opened.path} is not as it was.", fix)
        self._write(opened.path, text)

    def remove(self, name: str) -> ProfileFile:
        """Delete the file of a profile and return it, so that `restore` can write it again."""
        path = self._path(name)
        removed = self._read(path)
        try:
            path.unlink()
        except OSError as error:
            raise _not_written(path, error) from error
        return removed

    def restore(self, removed: ProfileFile) -> None:
        """Write a removed file again. Raise Problem if a new profile has the same name."""
        if removed.path.exists():
            raise Problem(f"There is an agent profile {removed.name!r} already.", "", "Remove or edit that one.")
        self._write(removed.path, removed.text)

    def _path(self, name: str) -> Path:
        return self._home / FOLDER / f"{name}.toml"

    def _read(self, path: Path) -> ProfileFile:
        try:
            text = path.read_bytes().decode("utf-8", "surrogateescape")
            return ProfileFile(path.stem, path, text, load_profile(self._home, path.stem))
        except OSError as error:
            return ProfileFile(path.stem, path, error=f"{path} cannot be read: {error.strerror}.")
        except Problem as problem:
            return ProfileFile(path.stem, path, text, error=str(problem))

    def _write(self, path: Path, text: str) -> None:
        """Write the file completely or not at all."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile("wb", dir=path.parent, prefix=f".{path.stem}.", delete=False) as part:
                try:
                    part.write(text.encode("utf-8", "surrogateescape"))
                    part.close()
                    Path(part.name).replace(path)
                except BaseException:
                    Path(part.name).unlink(missing_ok=True)
                    raise
        except OSError as error:
            raise _not_written(path, error) from error


def profile_toml(profile: AgentProfile, file_name: str) -> str:
    """Return the profile as TOML, without the keys that have their default value."""
    lines = _changed_keys(profile, AgentProfile(name=file_name), PROFILE_KEYS)
    if profile.setting:
        lines += ["", "[setting]", *(f"{_toml(key)} = {_toml(value)}" for key, value in profile.setting.items())]
    if learn := _changed_keys(profile.learn, LearningRules(), LEARN_KEYS):
        lines += ["", "[learn]", *learn]
    return "\n".join(lines) + "\n"


def _changed_keys(value: object, default: object, keys: Sequence[str]) -> list[str]:
    """Return a TOML line for each of the attributes `keys` that differs from the default."""
    changed = (key for key in keys if getattr(value, key) != getattr(default, key))
    return [f"{key} = {_toml(getattr(value, key))}" for key in changed]


def _checked_toml(name: str, profile: AgentProfile) -> str:
    """Return the profile as TOML. Raise Problem if the name of its file or the profile is not valid."""
    if len(name) > MAX_NAME_LENGTH or not NAME.fullmatch(name):
        fix = f"Use lowercase letters and digits, with hyphens between words, at most {MAX_NAME_LENGTH} characters."
        raise Problem(f"{name!r} is not a valid name for an agent profile.", "", fix)
    text = profile_toml(profile, name)
    parse_profile(text, name)
    return text


def _toml(value: str | int | Sequence[str] | Mapping[str, str]) -> str:
    """Format a value as TOML. Its JSON form is valid TOML, except that TOML needs the DEL character escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _not_written(path: Path, error: OSError) -> Problem:
    return Problem(f"{path} cannot be written.", f"{error.strerror}.", "Check the permissions of its folder.")
