"""The events about sub-agents, in the session of the agent that started them."""

from dataclasses import dataclass

from core.domain.text import Text


@dataclass(frozen=True, slots=True)
class SubagentStarted:
    """A tool call started a sub-agent, whose session is created next. `background`: the call returned immediately."""

    call_id: str
    child_session: str
    subagent: str
    task: Text = Text()
    background: bool = False


@dataclass(frozen=True, slots=True)
class SubagentEnded:
    """A sub-agent ended with the run status `status`; the other fields are its total usage.

    Its report is the result of the tool call `call_id`; in the background, the report is in the next HarnessMessage.
    """

    call_id: str
    child_session: str
    status: str
    turns: int = 0
    tokens: int = 0
    cost: float = 0.0
    minutes: float = 0.0
