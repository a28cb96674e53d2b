"""Evaluates a call against the permission policy with the current rules, mode and state of the run."""

import asyncio
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from core.domain.events import RunStarted
from core.domain.ids import run_id
from core.domain.permissions import NeedsApproval, PolicyDecision, SandboxLevel
from core.domain.problems import Problem
from core.domain.provenance import is_untrusted
from core.domain.sensitive_paths import is_protected
from core.domain.text import Text
from core.engine.policy.dictation import dictation_reason
from core.engine.policy.grants import parse_grants
from core.engine.policy.policy import PolicyContext, evaluate_call
from core.engine.policy.proposed_call import ProposedCall, propose_call
from core.engine.policy.rule_input import rules_in_folder
from core.engine.policy.secret_files import (
    has_plain_git,
    inner_links,
    leads_outside,
    matching_files,
    outside_links,
    searches_folder,
    secret_files,
)
from core.engine.run.run_context import RunContext
from core.engine.state.conversation import Conversation
from core.store.rule_store import RuleStore
from core.tools.read_before_edit import content_digest
from core.tools.tool import Tool
from core.tools.tool_context import ToolContext
from core.tools.trusted_config import is_trusted
from core.workspace.broker import FileBroker
from core.workspace.installation import installation_inside
from core.workspace.threads import run_to_completion


async def check_policy(book: RuleStore, run: RunContext, tool: Tool, call: str, parameters: Any) -> PolicyDecision:
    """Return the current decision on a call. Raise Problem if the call names a path that cannot be examined."""
    web = run.tool_context.web
    proposed, start, rules = (
        propose_call(tool, parameters, call, web.host if web else ""),
        run.conversation.start,
        book.current().rules,
    )
    assert start is not None
    grants = parse_grants(start.allow, run_id(run.session, run.conversation.run))
    folder = str(run.tool_context.folder)
    all_rules = None if rules is None else (*rules_in_folder(rules, folder), *grants.rules)

    in_thread = tool.access in ("execute", "write")
    texts = await _untrusted_texts(run) if in_thread else []
    untrusted_texts = cache(partial(_load_from_thread, run, texts, asyncio.get_running_loop()))

    def evaluation(level: SandboxLevel) -> Callable[[], PolicyDecision]:
        context = _policy_context(run, start, level, untrusted_texts, tool.access == "execute")
        return partial(
            evaluate_call, proposed, start.mode, all_rules, tuple(run.conversation.permissions.untrusted), context
        )

    if tool.access == "execute":
        return await run_to_completion(evaluation((await run.tool_context.proven_sandbox()).level))
    # Only for commands does the decision depend on the sandbox level, because FileBroker restricts file access.
    # The sandbox is tested, which is slow, only if a request has to show the level.
    verdict = await run_to_completion(evaluation("verified")) if in_thread else evaluation("verified")()
    if not isinstance(verdict, NeedsApproval):
        return verdict
    level = (await run.tool_context.proven_sandbox()).level
    return await run_to_completion(evaluation(level)) if in_thread else evaluation(level)()


def _policy_context(
    run: RunContext, start: RunStarted, level: SandboxLevel, untrusted_texts: Callable[[], Sequence[str]], runs: bool
) -> PolicyContext:
    name = run_id(run.session, run.conversation.run)
    return PolicyContext(
        session=run.session,
        run=name,
        workspace=str(run.tool_context.folder),
        data_dir=str(run.tool_context.data),
        level=level,
        changed_files=frozenset(run.conversation.permissions.changed_files) if runs else frozenset(),
        user_words=tuple(run.conversation.permissions.user_words),
        dictation_reason=partial(_dictation_reason, run, untrusted_texts),
        hosts=run.tool_context.network_access.hosts,
        granted_tools=parse_grants(start.allow, name).tools,
        unsettled=run.tool_context.unsettled.described(),
        agent=start.script_role,
        resolve=cache(run.tool_context.broker.resolve),
        is_trusted=partial(_is_trusted, run.tool_context),
        content_mark=partial(_content_mark, run.tool_context.broker),
        expand=cache(partial(matching_files, run.tool_context.folder)),
        secret_files=cache(partial(secret_files, run.tool_context.folder)),
        leads_outside=partial(leads_outside, run.tool_context.folder),
        outside_links=partial(outside_links, run.tool_context.folder),
        inner_links=cache(partial(inner_links, run.tool_context.folder)),
        searches_folder=partial(searches_folder, run.tool_context.folder),
        plain_git=cache(partial(has_plain_git, run.tool_context.folder)),
    )


def _load_from_thread(run: RunContext, texts: Sequence[Text], loop: asyncio.AbstractEventLoop) -> list[str]:
    """Load texts in full, which is worth while only if a decision depends on them. Called in another thread."""

    async def load() -> list[str]:  # by the thread that the reader belongs to
        return [run.full_text(text) for text in texts]

    return asyncio.run_coroutine_threadsafe(load(), loop).result()


async def _untrusted_texts(run: RunContext) -> list[Text]:
    """Return the untrusted content that the run has read, and for a sub-agent also that of the runs above it."""
    states, row = [run.conversation.permissions], run.reader.session(run.session)
    is_subagent = bool(row and row.parent)  # its messages are written by agents, which have read what is checked here
    while row and row.parent and not run.is_replay:
        caller = run.callers.setdefault(row.parent, Conversation())
        async for entry in run.journal.read(row.parent, caller.last_seq):
            caller.apply(entry)
        states.append(caller.permissions)
        row = run.reader.session(row.parent)
    texts = dict.fromkeys(
        text
        for state in states
        for text in (
            *state.untrusted_texts,
            *(() if is_subagent and state is states[0] else state.expanded_messages),
            *(text for text, source in state.sources.items() if is_untrusted(source, trusted=run.trusted)),
        )
    )
    return list(texts)


def _dictation_reason(run: RunContext, untrusted_texts: Callable[[], Sequence[str]], call: ProposedCall) -> str:
    """Return why a call needs approval because untrusted content may have dictated it."""
    mark = partial(_content_mark, run.tool_context.broker)
    return dictation_reason(call, mark, untrusted_texts, run.conversation.permissions.user_words)


def _is_trusted(context: ToolContext, path: str) -> bool:
    if is_protected(path):
        return True
    context.scan.find_places()
    own = installation_inside(context.folder)
    return is_trusted(context, path) or any((context.folder.resolve() / path).is_relative_to(place) for place in own)


def _content_mark(broker: FileBroker, name: str) -> str:
    """Return a digest of a file's contents, or "" if the file does not exist or cannot be read."""
    try:
        return content_digest(broker.read(name)) if broker.stat(name) else ""
    except Problem:
        return ""
