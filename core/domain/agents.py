"""Agents of others, as facts hold them: who came to work in a session, and what can be set of them."""

from dataclasses import dataclass
from typing import Final

AGENT: Final = "agent/"  # before the name of an agent of others, where a model is named


def is_agent(model: str) -> bool:
    """Is this no model, but an agent of others, which has its own?"""
    return model.startswith(AGENT)


@dataclass(frozen=True, slots=True)
class AgentOption:
    """A value that can be chosen."""

    value: str
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class AgentSetting:
    """Something of an agent that a person can choose. `plain` is false for modes of the older form of the protocol."""

    id: str
    name: str
    category: str
    value: str
    options: tuple[AgentOption, ...] = ()
    plain: bool = False

    def said(self) -> str:
        """Its value in words."""
        return next((one.name for one in self.options if one.value == self.value), self.value)


@dataclass(frozen=True, slots=True)
class AgentJoined:
    """A program of others began to work in the session. `theirs` is the name of the session on its side.

    `remembers` is false where it was started anew and could not take up what was said before.
    """

    agent: str
    version: str
    command: str
    theirs: str
    settings: tuple[AgentSetting, ...] = ()
    remembers: bool = True


@dataclass(frozen=True, slots=True)
class AgentTurned:
    """One of its settings has another value: chosen by the person, or by itself."""

    setting: str
    value: str
    by: str = "person"


def joined_words(joined: AgentJoined) -> str:
    """Who works here, and how it is set."""
    name = f"{joined.agent} {joined.version}".strip()
    forgot = "" if joined.remembers else "; it does not know what was said before"
    said = "".join(f"; {one.name}: {one.said()}" for one in joined.settings)
    return f"{name} works here{forgot}{said}"


def turned_words(turned: AgentTurned) -> str:
    """What is set of it now."""
    return f"the agent's {turned.setting}: {turned.value}" + ("" if turned.by == "person" else ", by itself")
