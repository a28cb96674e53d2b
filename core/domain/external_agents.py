"""The events of external agents (ACP): which agent works in a session, and its settings."""

from dataclasses import dataclass
from typing import Final

AGENT_PREFIX: Final = "agent/"  # prefix of external agents in model names


def is_external_agent(model: str) -> bool:
    """Return whether a model name designates an external agent, which brings its own model."""
    return model.startswith(AGENT_PREFIX)


@dataclass(frozen=True, slots=True)
class ExternalAgentOption:
    """A value that a setting of an external agent can have."""

    value: str
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class ExternalAgentSetting:
    """A setting of an external agent that the user can change, such as its model or its mode.

    `value` is the current value. `is_config_option` is False for session modes, an older part of ACP with its own
    method.
    """

    id: str
    name: str
    category: str
    value: str
    options: tuple[ExternalAgentOption, ...] = ()
    is_config_option: bool = False

    def value_name(self) -> str:
        """Return the display name of the current value."""
        return next((option.name for option in self.options if option.value == self.value), self.value)


@dataclass(frozen=True, slots=True)
class ExternalAgentStarted:
    """An external agent was started in the session.

    `command` is its command line and `agent_session_id` the agent's own id of the session. `has_history` is false if
    the agent could not load its earlier session, so that it knows nothing of the conversation so far.
    """

    agent: str
    version: str
    command: str
    agent_session_id: str
    settings: tuple[ExternalAgentSetting, ...] = ()
    has_history: bool = True


@dataclass(frozen=True, slots=True)
class ExternalAgentSettingChanged:
    """A setting of the external agent changed. `by` is `user`, or `agent` if the agent changed it itself."""

    setting_id: str
    value: str
    by: str = "user"


def agent_started_text(event: ExternalAgentStarted) -> str:
    """Return the timeline text for the start of an external agent."""
    name = f"{event.agent} {event.version}".strip()
    no_history = "" if event.has_history else "; it does not know the conversation so far"
    settings = "".join(f"; {setting.name}: {setting.value_name()}" for setting in event.settings)
    return f"{name} works here{no_history}{settings}"


def setting_changed_text(event: ExternalAgentSettingChanged) -> str:
    """Return the timeline text for a changed setting of an external agent."""
    return f"the agent's {event.setting_id}: {event.value}" + ("" if event.by == "user" else ", set by the agent")
