"""The table of the commands that need the engine. A command's module is imported only when the command is run."""

from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import cast

from app.commands.invocation import Invocation

# The module in `app.commands` and the function of each command.
COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "run": "run.run",
        "demo": "run.demo",
        "resume": "run.resume",
        "models": "models.models",
        "answer": "answer.answer",
        "approve": "answer.approve",
        "deny": "answer.deny",
        "pending": "answer.pending",
        "stop": "answer.stop",
        "sessions": "sessions.sessions",
        "show": "sessions.show",
        "compare": "compare.compare",
        "failures": "failures.failures",
        "fork": "fork.fork",
        "rewind": "rewind.rewind",
        "rate": "rate.rate",
        "worktree": "worktree.worktree",
        "schedule": "schedule.schedule",
        "mcp": "mcp.mcp",
        "packages": "packages.packages",
        "agents": "agents.agents",
        "acp": "acp.acp",
        "rules": "rules.rules",
        "export": "export.export",
        "import": "import_sessions.import_sessions",
        "trust": "trust.trust",
        "untrust": "trust.trust",
        "instructions": "trust.instructions",
        "unreviewed": "trust.unreviewed",
        "memory": "memory.memory",
        "skills": "skills.skills",
        "proposals": "proposals.proposals",
        "doctor": "doctor.doctor",
        "db": "db.db",
        "usage": "usage.usage",
    }
)


def command_function(name: str) -> Callable[[Invocation], Awaitable[int]]:
    """Return the function that runs a command."""
    module, function = COMMANDS[name].split(".")
    return cast("Callable[[Invocation], Awaitable[int]]", getattr(import_module(f"app.commands.{module}"), function))
