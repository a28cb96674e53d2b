"""Agents as a person describes them: one TOML file each in the data folder, read strictly and told in words."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from core.domain.memory import KINDS
from core.domain.problems import Problem
from core.memory.keep import Limits
from core.tools.catalogue import names

FOLDER = "agents"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
LONGEST = 64
LARGEST = 256 << 10


@dataclass(frozen=True, slots=True)
class Learning:
    """What may be kept of the agent's work. `may` empty is everything; what is in `never` wins.

    `templates` are shapes of heuristics, `outcome` the fields an outcome should have, `least` how many like
    outcomes make a heuristic, `about` whatever else a person notes.
    """

    may: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    outcome: tuple[str, ...] = ()
    least: int = 3
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Profile:
    """`tools` None is all of them. `tier` and `model` are wishes, empty for the usual ones.

    `setting` are things that hold wherever the agent works, `actions` what it does when nothing else is said.
    """

    name: str = "Journeyman"
    description: str = ""
    role: str = ""
    instructions: str = ""
    traits: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    setting: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[str, ...] | None = None
    tier: str = ""
    model: str = ""
    learn: Learning = Learning()


USUAL = Profile()


def profiles(home: Path) -> dict[str, Profile]:
    """Every agent that can be read, by the name of its file; those that cannot are said when they are asked for."""
    found: dict[str, Profile] = {}
    for path in sorted((home / FOLDER).glob("*.toml")):
        try:
            found[path.stem] = profile(home, path.stem)
        except Problem:
            continue
    return found


def profile(home: Path, name: str) -> Profile:
    """An agent by the name of its file; the usual one for no name."""
    if not name:
        return USUAL
    path = home / FOLDER / f"{name}.toml"
    if len(name) > LONGEST or not NAME.fullmatch(name) or not path.is_file():
        known = sorted(found.stem for found in (home / FOLDER).glob("*.toml"))
        near = get_close_matches(name, known, n=1)
        why = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(known)}." if known else ""
        raise Problem(f"There is no agent {name!r}.", why, f"An agent is a file NAME.toml in {home / FOLDER}.")
    from pydantic import ValidationError

    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"it is larger than {LARGEST:,} bytes")
        return _read(tomllib.loads(path.read_text("utf-8")), name)
    except ValidationError as error:
        told = error.errors(include_url=False)[0]
        place = ".".join(map(str, told["loc"]))
        raise _wrong(path, f"{place}: {told['msg']}") from error
    except (OSError, ValueError) as error:  # also what is no TOML and no UTF-8
        raise _wrong(path, str(error)) from error


def learnable(home: Path, agent: str) -> Limits:
    """What may be kept of an agent's work; of one that cannot be read, nothing."""
    try:
        learn = profile(home, agent).learn
    except Problem:
        return Limits(never=KINDS)
    return Limits(learn.may, learn.never)


def _read(plain: dict[str, Any], name: str) -> Profile:
    from pydantic import TypeAdapter

    made = TypeAdapter(Profile).validate_python({"name": name} | plain, extra="forbid")
    for tool in made.tools or ():
        if tool not in names():
            near = get_close_matches(tool, names(), n=1)
            raise ValueError(f"tools: there is no tool {tool!r}" + (f", did you mean {near[0]!r}?" if near else ""))
    return made


def _wrong(path: Path, why: str) -> Problem:
    return Problem(
        f"The agent {path.stem!r} cannot be read.", why if why.endswith((".", "?")) else f"{why}.", f"Correct {path}."
    )


def told(profile: Profile) -> str:
    """What the model reads of it, besides name and role."""
    lists = (
        ("You are", profile.traits),
        ("When nothing else is said", profile.actions),
        ("Always", profile.constraints),
        ("Where you work", [f"{name}: {value}" for name, value in profile.setting.items()]),
    )
    parts = [profile.instructions.strip()]
    parts += [f"{title}:\n" + "\n".join(f"- {item}" for item in items) for title, items in lists if items]
    return "\n\n".join(part for part in parts if part)
