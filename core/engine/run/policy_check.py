"""Evaluates a call against the permission policy with the current rules, mode and state of the run."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from core.domain.events import RunStarted
from core.domain.ids import run_id
from core.domain.permissions import NeedsApproval, PolicyDecision, SandboxLevel
from core.domain.problems import Problem
from core.domain.provenance import is_untrusted
from core.domain.sensitive_paths import is_protected
from core.domain.text import Text
from core.engine.policy.dictation import dictation_reason, is_written
from core.engine.policy.folder_inspection import (
    has_plain_git,
    inner_links,
    leads_outside,
    matching_files,
    outside_links,
    searches_folder,
    secret_files,
)
from core.engine.policy.grants import parse_grants
from core.engine.policy.policy import PolicyContext, evaluate_call
from core.engine.policy.proposed_call import ProposedCall, propose_call
from core.engine.policy.rule_input import rules_in_folder
from core.engine.run.computed_scripts import Script, find_scripts, script_reason
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


async def check_policy(
    rule_store: RuleStore, run: RunContext, tool: Tool, call: str, parameters: Any
) -> PolicyDecision:
    """Return the current decision on a call. Raise Problem if the call names a path that cannot be examined."""
    web = run.tool_context.web
    proposed = propose_call(tool, parameters, call, web.host if web else "")
    rules = rule_store.current().rules
    start = run.conversation.start
    assert start is not None
    grants = parse_grants(start.allow, run_id(run.session, run.conversation.run))
    folder = str(run.tool_context.folder)
    all_rules = None if rules is None else (*rules_in_folder(rules, folder), *grants.rules)

    in_thread = tool.access in ("execute", "write")
    texts = await _untrusted_texts(run, commands=tool.access == "execute") if in_thread else []
    load = partial(_load_from_thread, run, texts, asyncio.get_running_loop())
    untrusted_texts: Callable[[], Sequence[str]] = cache(load) if texts else tuple
    scripts = await find_scripts(run, proposed.subjects[0]) if tool.access == "execute" else []

    def evaluation(level: SandboxLevel) -> Callable[[], PolicyDecision]:
        context = _policy_context(run, start, level, partial(_dictation_reason, run, untrusted_texts, scripts))
        context = _for_commands(context, run.tool_context.folder) if tool.access == "execute" else context
        return partial(
            evaluate_call, proposed, start.mode, all_rules, tuple(run.conversation.permissions.untrusted), context
        )

    if tool.access == "execute":
        return await run_to_completion(evaluation((await run.tool_context.proven_sandbox()).level))
    # The decision depends on the sandbox level only for commands: other tools access files through FileBroker. So the
    # slow test of the sandbox is only needed to show its level in a permission request.
    decision = await run_to_completion(evaluation("verified")) if in_thread else evaluation("verified")()
    if not isinstance(decision, NeedsApproval):
        return decision
    level = (await run.tool_context.proven_sandbox()).level
    return await run_to_completion(evaluation(level)) if in_thread else evaluation(level)()


def _policy_context(
    run: RunContext, start: RunStarted, level: SandboxLevel, dictation: Callable[[ProposedCall], str]
) -> PolicyContext:
    name = run_id(run.session, run.conversation.run)
    return PolicyContext(
        session=run.session,
        run=name,
        workspace=str(run.tool_context.folder),
        data_dir=str(run.tool_context.data),
        level=level,
        changed_files=frozenset(run.conversation.permissions.changed_files),
        user_words=tuple(run.conversation.permissions.user_words),
        dictation_reason=dictation,
        hosts=run.tool_context.network_access.hosts,
        granted_tools=parse_grants(start.allow, name).tools,
        unsettled=run.tool_context.unsettled.described(),
        agent=start.script_role,
        resolve=cache(run.tool_context.broker.resolve),
        is_trusted=partial(_is_trusted, run.tool_context),
        content_mark=partial(_content_mark, run.tool_context.broker),
    )


def _for_commands(context: PolicyContext, folder: Path) -> PolicyContext:
    """Return the context extended by the functions about files, links and git that only commands need."""
    return replace(
        context,
        expand=cache(partial(matching_files, folder)),
        secret_files=cache(partial(secret_files, folder)),
        leads_outside=partial(leads_outside, folder),
        outside_links=partial(outside_links, folder),
        inner_links=cache(partial(inner_links, folder)),
        searches_folder=partial(searches_folder, folder),
        plain_git=cache(partial(has_plain_git, folder)),
    )


def _load_from_thread(run: RunContext, texts: Sequence[Text], loop: asyncio.AbstractEventLoop) -> list[str]:
    """Load the full texts in the thread of the event loop, and wait for them. Called from a worker thread."""

    async def load() -> list[str]:  # a coroutine, because the database reader may be used only in the loop's thread
        return [run.full_text(text) for text in texts]

    return asyncio.run_coroutine_threadsafe(load(), loop).result()


async def _untrusted_texts(run: RunContext, *, commands: bool) -> list[Text]:
    """Return the untrusted content that the run has read, and for a sub-agent also what the agents above it have read.

    With `commands`, files that the user attached count as untrusted too: they may name files to write, but must not
    decide which commands are run.
    """
    own = run.conversation.permissions
    row = run.reader.session(run.session)
    is_subagent = bool(row and row.parent)
    states = [own]
    while row and row.parent and not run.is_replay:
        caller = run.callers.setdefault(row.parent, Conversation())
        async for entry in run.journal.read(row.parent, caller.last_seq):
            caller.apply(entry)
        states.append(caller.permissions)
        row = run.reader.session(row.parent)
    texts: dict[Text, None] = {}
    for state in states:
        texts |= state.untrusted_texts
        if commands:
            texts |= state.attached_texts
        # The messages to a sub-agent are written by an agent, not by the user.
        by_agent = is_subagent and state is own
        expanded = state.authorship.expanded.items()
        texts |= dict.fromkeys(text for text, typed in expanded if typed is not None or not by_agent)
        sources = state.sources.items()
        texts |= dict.fromkeys(text for text, source in sources if is_untrusted(source, trusted=run.trusted))
    return list(texts)


def _dictation_reason(
    run: RunContext, untrusted_texts: Callable[[], Sequence[str]], scripts: Sequence[Script], call: ProposedCall
) -> str:
    """Return why untrusted content may have dictated a call or the scripts that it runs; "" if it has not."""
    content_mark = partial(_content_mark, run.tool_context.broker)
    user_words = run.conversation.permissions.user_words
    reason = dictation_reason(call, content_mark, untrusted_texts, user_words)
    if reason or not scripts or is_written(call.subjects[0], user_words):
        return reason
    return script_reason(scripts, untrusted_texts(), user_words)


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
