"""The part of the engine's interface that takes user decisions: answers, approvals, modes, rules and folder trust."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from core.domain.clock import now
from core.domain.events import RunInterrupted
from core.domain.ids import run_id
from core.domain.modes import Mode
from core.domain.permissions import PendingPermissionRequest, RuleScope
from core.domain.problems import Problem
from core.domain.question import Answer
from core.domain.rules import PermissionRule, RuleDraft
from core.domain.sessions import SessionRow
from core.domain.untrusted_file import UnreviewedFile, unreviewed_file
from core.engine.api.policy_test import PolicyTest, check_command
from core.engine.api.queries import Queries
from core.engine.lifecycle.approvals import Approvals
from core.engine.lifecycle.run_controller import RunController
from core.engine.policy.permission_lists import PermissionList, find_permission_lists
from core.engine.policy.rule_input import rule_from_draft, rule_tools
from core.engine.policy.trust import FolderTrust, find_instructions, inspect_folder, save_trust
from core.engine.services.skills import SkillService
from core.engine.state.unresolved_calls import UNFINISHED, UnresolvedCallsError, root_session
from core.store.data_folder import DataFolder
from core.store.rule_store import LoadedRules
from core.store.untrusted_files import mark_reviewed, read_untrusted_files
from core.workspace.paths import check_workspace


class OpenPermissionRequest(NamedTuple):
    """A permission request that waits for the user, and its session."""

    session: SessionRow
    pending: PendingPermissionRequest


class UserDecisions(Queries):
    """Mixin of the engine with the methods that record user decisions."""

    skills: SkillService
    _runs: RunController
    _approvals: Approvals
    _opened: DataFolder

    async def answer(self, question: str, answer: Answer, *, resume: bool = False) -> str:
        """Answer a question and return its session.

        With `resume`, resume a run that was waiting for the answer when Journeyman exited.
        """
        return await self._resume_if_asked(await self._runs.answers.answer(question, answer), resume)

    async def start_answering(self, question: str) -> None:
        """Remove the time limit of a question, because the user has begun to answer it."""
        await self._runs.answers.start_answering(question)

    async def _resume_if_asked(self, session: str, resume: bool) -> str:
        root = root_session(self._reader, session)
        if resume and not self._runs.is_active(root):
            try:
                await self._runs.resume(root)
            except UnresolvedCallsError:
                # A tool call had asked the question. The user must first choose to retry or skip that call.
                calls = tuple(await self._runs.unresolved_calls(root))
                await self._journal.append(root, RunInterrupted("Journeyman exited during the call.", calls))
        return session

    def permission_requests(self) -> list[OpenPermissionRequest]:
        """Return the open permission requests, oldest first."""
        requests = self._reader.permission_requests()
        return [OpenPermissionRequest(self.session(pending.session), pending) for pending in requests]

    async def allow(
        self,
        request: str,
        scope: RuleScope = "once",
        patterns: Sequence[str] = (),
        *,
        include_similar: bool = False,
        resume: bool = False,
    ) -> str:
        """Approve a call and return its session.

        Any scope other than "once" saves a rule for each of `patterns`, which the request must offer. With
        `include_similar`, similar open requests of the session are approved too. With `resume`, resume a run that was
        waiting when Journeyman exited.
        """
        return await self._resume_if_asked(
            await self._approvals.allow(request, scope, patterns, include_similar=include_similar), resume
        )

    async def allow_changed(self, request: str, text: str, *, resume: bool = False) -> str:
        """Approve a call once, as the user edited it, and return its session. The policy checks the changed call."""
        return await self._resume_if_asked(await self._approvals.allow_changed(request, text), resume)

    async def deny(self, request: str, reason: str = "", *, include_similar: bool = False, resume: bool = False) -> str:
        """Deny a call and return its session. The model reads the reason."""
        return await self._resume_if_asked(
            await self._approvals.deny(request, reason, include_similar=include_similar), resume
        )

    async def choose_option(self, request: str, option: str, *, resume: bool = False) -> str:
        """Decide a request with one of the options that an external agent offers, and return its session."""
        return await self._resume_if_asked(await self._approvals.choose(request, option), resume)

    async def set_mode(self, session: str, mode: Mode) -> None:
        """Set the permission mode of a session. Open requests that the new mode allows or denies are decided."""
        await self._approvals.set_mode(session, mode)

    def rules(self) -> LoadedRules:
        """Return the saved rules that are in effect, or the reason why the rules file cannot be read.

        Rules for a run that has ended are left out, because they can never apply again.
        """
        loaded = self._rule_store.read()
        if loaded.rules is None:
            return loaded
        in_effect = (rule for rule in loaded.rules if rule.scope != "run" or self._is_unfinished(rule.scope_id))
        return LoadedRules(tuple(in_effect))

    def _is_unfinished(self, run: str) -> bool:
        """Return whether a run, given by the ID that rules use, has not ended yet."""
        row = self._reader.session(run.rpartition("/")[0])
        return row is not None and row.status in UNFINISHED and run == run_id(row.id, row.runs)

    def rule_tools(self) -> tuple[str, ...]:
        """Return the built-in tools that a rule can name."""
        return rule_tools()

    async def add_rule(self, draft: RuleDraft) -> PermissionRule:
        """Save a rule that the user wrote. Raise Problem if it must not be saved."""
        rule = rule_from_draft(draft, now())
        await self._rule_store.add([rule])
        return rule

    async def add_rules(self, rules: Sequence[PermissionRule]) -> None:
        """Save rules that the user chose from a permission list of another agent."""
        await self._rule_store.add(rules)

    async def replace_rule(self, rule: str, draft: RuleDraft) -> PermissionRule:
        """Save an edited rule as a new rule, and revoke the old one. Past decisions still refer to the old rule."""
        changed = rule_from_draft(draft, now())
        await self._rule_store.replace(rule, changed)
        return changed

    async def restore_rule(self, rule: str) -> str:
        """Restore a revoked rule and return its text."""
        return await self._rule_store.restore(rule)

    async def permission_lists(self, folder: Path) -> tuple[PermissionList, ...]:
        """Return the permission lists of other agents (see `find_permission_lists`): in the home folder and here."""
        return await asyncio.to_thread(find_permission_lists, folder, now())

    async def test_command(self, command: str, folder: Path, mode: Mode) -> PolicyTest:
        """Return whether the policy would allow a command in a new session in this folder. Do not run the command."""
        return await check_command(command, folder, mode, self._rule_store.read(), self._opened.path.parent)

    async def folder_trust(self, folder: Path) -> FolderTrust:
        """Return whether the user trusts the folder, and which project instructions it contains."""
        return await asyncio.to_thread(inspect_folder, self._rule_store.read(), check_workspace(folder))

    async def trust(
        self, folder: Path, trusted: bool = True, by: str = "user", seen: FolderTrust | None = None
    ) -> None:
        """Follow the project instructions of the folder, or treat its files as untrusted content.

        The decision is stored as a rule, which `revoke` removes. With `seen`, the state that the user decided on, files
        that have changed since are not trusted.
        """
        workspace = check_workspace(folder)
        digests = await asyncio.to_thread(find_instructions, workspace)
        if seen:
            digests = {name: digest for name, digest in digests.items() if seen.digests.get(name) == digest}
        await save_trust(self._rule_store, str(workspace), trusted, digests, by)
        if not trusted:
            await self.skills.distrust_folder(workspace)

    async def untrusted_files(self, folder: Path) -> tuple[UnreviewedFile, ...]:
        """Return the files that runs wrote after reading untrusted content, and the user has not reviewed."""
        rows = await asyncio.to_thread(read_untrusted_files, self._opened.path, str(folder))
        newest = {row.path: row for row in reversed(rows)}
        return tuple(unreviewed_file(row, folder) for row in sorted(newest.values(), key=lambda row: row.path))

    async def mark_reviewed(self, folder: Path, reviewed: Mapping[str, str] | None = None) -> int:
        """Trust files again, because the user has looked at them, and return their number.

        `reviewed` maps paths to the hash of the contents that the user saw, or to "" for the current contents; None
        means all files in the folder. A file that a run has changed since is left out.
        """
        if self._opened.database is None:
            raise Problem("The data folder is not writable.", "It is open read-only.", "")
        return await self._opened.database.run(partial(mark_reviewed, folder=str(folder), reviewed=reviewed))

    async def revoke(self, rule: str) -> str:
        """Revoke a rule and return its text."""
        return await self._rule_store.revoke(rule)
