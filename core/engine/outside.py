"""The agents of others as a person sees and sets them: list, add, remove, try; and what is set in a session."""

import asyncio
from dataclasses import dataclass

from core.agents.guests import Guests, of_command
from core.agents.known import installed
from core.domain.agents import AGENT, AgentJoined, AgentSetting, AgentTurned
from core.domain.problems import Problem, Trouble
from core.engine.guest import turned
from core.settings.file import SettingsFile
from core.settings.schema import OutsideAgent
from core.store.journal import Journal


@dataclass(frozen=True, slots=True)
class AgentLook:
    """What an agent said of itself when it was started; `trouble` says why it was not."""

    name: str
    title: str = ""
    version: str = ""
    settings: tuple[AgentSetting, ...] = ()
    trouble: Trouble | None = None


class OutsideAgents:
    """What a person set, and one way to change it."""

    def __init__(self, settings: SettingsFile, guests: Guests, journal: Journal) -> None:
        self._settings = settings
        self._guests = guests
        self._journal = journal

    def list(self) -> tuple[OutsideAgent, ...]:
        return self._settings.now.agents

    def models(self) -> tuple[str, ...]:
        """Their names, as they stand where a model is named."""
        return tuple(f"{AGENT}{one.name}" for one in self.list())

    async def found(self) -> tuple[OutsideAgent, ...]:
        """Known ones on this computer that were not added yet."""
        there = {one.words() for one in self.list()}
        return tuple(one for one in await asyncio.to_thread(installed) if one.words() not in there)

    def add(self, name: str, command: str) -> OutsideAgent:
        """Add one, or change the one of this name."""
        words = of_command(command)
        agent = OutsideAgent(name=name, command=words.command, args=words.args)
        others = tuple(one for one in self.list() if one.name != name)
        self._settings.change(agents=(*others, agent))
        return agent

    def remove(self, name: str) -> None:
        self._known(name)
        self._settings.change(agents=tuple(one for one in self.list() if one.name != name))

    async def test(self, name: str) -> AgentLook:
        """Start it, shake hands, open a session, end it. No model is asked anything."""
        agent = self._known(name)
        try:
            connection = await self._guests.test(agent)
        except Problem as problem:
            return AgentLook(name, trouble=problem.trouble)
        await connection.close()
        return AgentLook(name, connection.name, connection.version, connection.settings)

    async def settings(self, session: str) -> tuple[AgentSetting, ...]:
        """What can be set of the agent of a session, as it is now."""
        if held := self._guests.at(session):
            return held.settings
        found: tuple[AgentSetting, ...] = ()
        async for entry in self._journal.read(session):
            if isinstance(entry.event, AgentJoined):
                found = entry.event.settings
            elif isinstance(entry.event, AgentTurned):
                found = turned(found, entry.event.setting, entry.event.value) or found
        return found

    async def set(self, session: str, name: str, value: str) -> None:
        """Choose a value of one of its settings; the agent must be at work or at rest here."""
        held = self._guests.at(session)
        if held is None:
            raise Problem("The agent is not running now.", "", "Send it a message; then it can be set.")
        found = next((one for one in held.settings if one.id == name), None)
        if found is None or value not in {one.value for one in found.options}:
            known = "; ".join(f"{one.id}: {', '.join(each.value for each in one.options)}" for one in held.settings)
            raise Problem(f"The agent has no {name} {value}.", "", f"It has {known}." if known else "It has none.")
        await held.choose(found, value)
        if (changed := turned(held.settings, name, value)) is not None:
            held.settings = changed
        await self._journal.append(session, AgentTurned(name, value))

    def _known(self, name: str) -> OutsideAgent:
        if found := next((one for one in self.list() if one.name == name), None):
            return found
        raise Problem(f"There is no agent {name!r}.", "", "List them: journeyman agents list.")
