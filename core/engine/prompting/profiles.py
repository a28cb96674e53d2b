"""Agent profiles: TOML files in the `agents` folder of the data folder, one per agent, validated strictly."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from core.domain.memory import MEMORY_KINDS
from core.domain.problems import Problem
from core.domain.tiers import TIER_NAMES, Tiers
from core.mcp.tool_definition import NAME_SEPARATOR
from core.memory.saving import LearningLimits
from core.tools.catalogue import tool_names

FOLDER = "agents"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MAX_NAME_LENGTH = 64
MAX_FILE_SIZE = 256 << 10


@dataclass(frozen=True, slots=True)
class LearningRules:
    """What may be remembered of the agent's work.

    Attributes:
        may: topics that may be remembered; empty means all topics.
        never: topics that are not remembered, even if `may` lists them.
        least: after so many runs with similar outcomes, a general lesson (heuristic) is proposed.
    """

    may: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    least: int = 3


@dataclass(frozen=True, slots=True)
class AgentProfile:
    """An agent as its TOML file describes it.

    Attributes:
        actions: what the agent does unless told otherwise.
        setting: named facts about the environment the agent works in.
        tools: names of the tools that the agent may use; None means all.
        tier: the model tier of its runs, used if `model` is empty; empty for the model of the settings.
        model: the model of its runs; empty for the one of the tier or of the settings.
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
    learn: LearningRules = LearningRules()


DEFAULT_PROFILE = AgentProfile()


class LoadedProfiles(NamedTuple):
    """The profiles that can be used, and the errors of the others, by name."""

    profiles: dict[str, AgentProfile]
    errors: dict[str, Problem]


def load_profiles(home: Path) -> LoadedProfiles:
    """Return all valid profiles by file name, and the errors of the invalid ones."""
    profiles: dict[str, AgentProfile] = {}
    invalid: dict[str, Problem] = {}
    for path in sorted((home / FOLDER).glob("*.toml")):
        try:
            profiles[path.stem] = load_profile(home, path.stem)
        except Problem as problem:
            invalid[path.stem] = problem
    return LoadedProfiles(profiles, invalid)


def load_profile(home: Path, name: str) -> AgentProfile:
    """Return the profile with this file name, or the default profile for an empty name.

    Raise Problem if there is no such file or it is invalid.
    """
    if not name:
        return DEFAULT_PROFILE
    path = home / FOLDER / f"{name}.toml"
    if len(name) > MAX_NAME_LENGTH or not NAME.fullmatch(name) or not path.is_file():
        names = sorted(file.stem for file in (home / FOLDER).glob("*.toml"))
        why = f"The agents are: {', '.join(names)}." if names else ""
        if close := get_close_matches(name, names, n=1):
            why = f"Did you mean {close[0]!r}?"
        raise Problem(f"There is no agent {name!r}.", why, f"Create {name}.toml in {home / FOLDER}.")
    try:
        if path.stat().st_size > MAX_FILE_SIZE:
            raise ValueError(f"it is larger than {MAX_FILE_SIZE:,} bytes")
        return _parsed(path.read_text("utf-8"), name)
    except (OSError, ValueError) as error:  # ValueError includes invalid TOML and invalid UTF-8.
        raise _invalid(name, str(error), f"Fix {path}.") from error


def parse_profile(text: str, name: str) -> AgentProfile:
    """Return the profile that a file of this name and contents would describe. Raise Problem if it is invalid."""
    try:
        return _parsed(text, name)
    except ValueError as error:
        raise _invalid(name, str(error), "") from error


def preferred_model(home: Path, agent: str, tiers: Tiers) -> str:
    """Return the model or the tier that the agent's profile prefers; empty if it has no preference.

    A tier counts only if any tier has models. Raise Problem if the profile cannot be read.
    """
    profile = load_profile(home, agent)
    has_models = any((tiers.small, tiers.mid, tiers.frontier))
    return profile.model or (profile.tier if has_models else "")


def memory_limits(home: Path, agent: str) -> LearningLimits:
    """Return which topics of an agent's work may be remembered. If the profile cannot be read, none may."""
    try:
        learn = load_profile(home, agent).learn
    except Problem:
        return LearningLimits(denied=MEMORY_KINDS)
    return LearningLimits(learn.may, learn.never, learn.least)


def _parsed(text: str, name: str) -> AgentProfile:
    """Return the profile. Raise ValueError if the text is not TOML, or has an unknown key or an invalid value."""
    from pydantic import TypeAdapter, ValidationError

    data: dict[str, Any] = {"name": name} | tomllib.loads(text)
    try:
        profile = TypeAdapter(AgentProfile).validate_python(data, extra="forbid")
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if profile.tier and profile.tier not in TIER_NAMES:
        raise ValueError(f"tier: there is no tier {profile.tier!r}; use one of {', '.join(sorted(TIER_NAMES))}")
    if profile.learn.least < 1:
        raise ValueError("learn.least: there must be at least one outcome")
    if not all(name.strip() and value.strip() for name, value in profile.setting.items()):
        raise ValueError("setting: each entry needs a name and a value")
    for tool in profile.tools or ():
        if tool not in tool_names() and NAME_SEPARATOR not in tool:  # Accept tools of MCP servers not yet added.
            close = get_close_matches(tool, tool_names(), n=1)
            raise ValueError(f"tools: there is no tool {tool!r}" + (f", did you mean {close[0]!r}?" if close else ""))
    return replace(profile, tools=tuple(map(_without_mcp_prefix, profile.tools))) if profile.tools else profile


def _without_mcp_prefix(tool: str) -> str:
    """Return Journeyman's name of a tool: without the prefix `mcp__` that other agents put before MCP tools."""
    name = tool.removeprefix(f"mcp{NAME_SEPARATOR}")
    return name if NAME_SEPARATOR in name else tool


def _invalid(name: str, why: str, fix: str) -> Problem:
    return Problem(f"The agent {name!r} cannot be read.", why if why.endswith((".", "?")) else f"{why}.", fix)


def profile_prompt(profile: AgentProfile) -> str:
    """Return the part of the system prompt that describes the agent, apart from its name and role."""
    lists = (
        ("You are", profile.traits),
        ("Unless told otherwise", profile.actions),
        ("Always", profile.constraints),
        ("Where you work", [f"{name}: {value}" for name, value in profile.setting.items()]),
    )
    parts = [profile.instructions.strip()]
    parts += [f"{title}:\n" + "\n".join(f"- {item}" for item in items) for title, items in lists if items]
    return "\n\n".join(part for part in parts if part)
