"""Every command that needs the engine, in one table."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType

from app.commands import (
    acp,
    agents,
    answering,
    care,
    exchange,
    history,
    looking,
    models,
    past,
    proposing,
    remembering,
    ruling,
    run,
    scheduling,
    servers,
    skilled,
    trusting,
    usage,
    worktrees,
)
from app.commands.context import Context

COMMANDS: Mapping[str, Callable[[Context], Awaitable[int]]] = MappingProxyType(
    {
        "run": run.run,
        "demo": run.demo,
        "resume": run.resume,
        "models": models.models,
        "answer": answering.answer,
        "questions": answering.questions,
        "stop": answering.stop,
        "sessions": looking.sessions,
        "show": looking.show,
        "compare": past.compare,
        "failures": past.failures,
        "fork": history.fork,
        "rewind": history.rewind,
        "verdict": history.verdict,
        "worktree": worktrees.worktree,
        "schedule": scheduling.schedule,
        "mcp": servers.mcp,
        "agents": agents.agents,
        "acp": acp.acp,
        "rules": ruling.rules,
        "export": exchange.export,
        "import": exchange.bring,
        "trust": trusting.trust,
        "memory": remembering.memory,
        "skills": skilled.skills,
        "proposals": proposing.proposals,
        "doctor": care.doctor,
        "backup": care.backup,
        "compact": care.compact,
        "usage": usage.usage,
    }
)
