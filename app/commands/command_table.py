"""The table of the commands that need the engine."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType

from app.commands import (
    acp,
    agents,
    answer,
    compare,
    db,
    doctor,
    export,
    failures,
    fork,
    import_sessions,
    mcp,
    memory,
    models,
    proposals,
    rate,
    rewind,
    rules,
    run,
    schedule,
    sessions,
    skills,
    trust,
    usage,
    worktree,
)
from app.commands.invocation import Invocation

COMMANDS: Mapping[str, Callable[[Invocation], Awaitable[int]]] = MappingProxyType(
    {
        "run": run.run,
        "demo": run.demo,
        "resume": run.resume,
        "models": models.models,
        "answer": answer.answer,
        "approve": answer.approve,
        "deny": answer.deny,
        "pending": answer.pending,
        "stop": answer.stop,
        "sessions": sessions.sessions,
        "show": sessions.show,
        "compare": compare.compare,
        "failures": failures.failures,
        "fork": fork.fork,
        "rewind": rewind.rewind,
        "rate": rate.rate,
        "worktree": worktree.worktree,
        "schedule": schedule.schedule,
        "mcp": mcp.mcp,
        "agents": agents.agents,
        "acp": acp.acp,
        "rules": rules.rules,
        "export": export.export,
        "import": import_sessions.import_sessions,
        "trust": trust.trust,
        "untrust": trust.trust,
        "memory": memory.memory,
        "skills": skills.skills,
        "proposals": proposals.proposals,
        "doctor": doctor.doctor,
        "db": db.db,
        "usage": usage.usage,
    }
)
