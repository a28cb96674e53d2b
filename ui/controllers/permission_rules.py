"""Carries out the actions of the Permission rules settings page: add, edit, revoke, restore and test rules."""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QCoreApplication

from core.domain.modes import DEFAULT_MODE
from core.domain.permissions import Allowed, Denied
from core.domain.problems import Problem
from core.domain.rules import PermissionRule, RuleDraft
from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.controllers.settings_page import SettingsPageController
from ui.settings.import_rules_dialog import ImportRulesDialog
from ui.settings.permission_rules_page import PermissionRuleAction
from ui.settings.rule_dialog import RuleDialog
from ui.settings.settings_dialog import SettingsDialog
from ui.style.theme import Look
from ui.widgets.toned_text import TonedText

if TYPE_CHECKING:
    from core.engine.api.engine import Engine
    from core.engine.api.policy_test import PolicyTest


class _RulesToImport(NamedTuple):
    """Lines about the permission lists of other agents, and those of their rules that are not saved yet."""

    lines: list[str]
    new_rules: tuple[PermissionRule, ...]


class PermissionRulesController(SettingsPageController):
    """Carries out the actions of the Permission rules page.

    `folder` is the folder of the active session; "" without one. `reload` reads the settings and rules again.
    """

    def __init__(
        self,
        look: Look,
        dialog: SettingsDialog,
        bridge: Bridge,
        tasks: Tasks,
        folder: str,
        reload: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(look, dialog, bridge, tasks)
        self._folder = folder
        self._reload_settings = reload
        dialog.rule_action_requested.connect(lambda action, name: self._start(self._act(action, name), action))

    async def _act(self, action: str, name: str) -> None:
        match PermissionRuleAction(action):
            case PermissionRuleAction.ADD:
                await self._open_editor(None)
            case PermissionRuleAction.IMPORT:
                await self._offer_import()
            case PermissionRuleAction.EDIT:
                rules = await self._ask(_rules)
                await self._open_editor(next((rule for rule in rules if rule.id == name), None))
            case PermissionRuleAction.TEST_COMMAND:
                await self._test(name)
            case PermissionRuleAction.RESTORE:
                await self._restore(name)
            case PermissionRuleAction.REVOKE:
                description = await self._ask(lambda engine: engine.revoke(name))
                await self._reload_settings()
                self._show_message(_tr("Revoked the rule."))
                if not self.closed:
                    self._dialog.rules.show_revoked(name, description)

    async def _restore(self, name: str) -> None:
        try:
            description = await self._ask(lambda engine: engine.restore_rule(name))
        except Problem:
            if not self.closed:
                self._dialog.rules.end_restoring()
            raise
        self._show_message(_tr("Restored: {}").format(description))
        await self._reload_settings()

    async def _open_editor(self, rule: PermissionRule | None) -> None:
        tools = await self._ask(_tools)
        if self.closed:
            return
        editor = RuleDialog(self._look, tools, self._folder, rule, self._dialog)
        editor.saved.connect(lambda draft: self._start(self._save(editor, draft, rule), "save a rule"))
        editor.finished.connect(editor.deleteLater)
        editor.open()

    async def _offer_import(self) -> None:
        """Show the permission lists of other agents, and save their rules if the user agrees."""
        found = await self._ask(partial(_rules_to_import, self._folder_or_home()))
        if self.closed:
            return

        async def save() -> None:
            await self._ask(lambda engine: engine.add_rules(found.new_rules))
            self._show_message(_tr("Imported {} rules. They take effect immediately.").format(len(found.new_rules)))
            await self._reload_settings()

        dialog = ImportRulesDialog(self._look, found.lines, len(found.new_rules), self._dialog)
        dialog.confirmed.connect(lambda: self._start(save(), "import rules"))
        dialog.open()

    async def _save(self, editor: RuleDialog, draft: RuleDraft, rule: PermissionRule | None) -> None:
        try:
            await self._ask(lambda engine: engine.replace_rule(rule.id, draft) if rule else engine.add_rule(draft))
        except Problem as problem:
            editor.show_error(problem.details)
            return
        editor.accept()
        self._show_message(_tr("Saved the rule. It takes effect immediately."))
        await self._reload_settings()

    async def _test(self, command: str) -> None:
        folder = self._folder_or_home()
        result = await self._ask(lambda engine: engine.test_command(command, folder, DEFAULT_MODE))
        if not self.closed:
            self._dialog.rules.show_result(_result_text(result))

    def _folder_or_home(self) -> Path:
        return Path(self._folder) if self._folder else Path.home()


def _result_text(result: "PolicyTest") -> TonedText:
    """Return a text that says whether a command would be allowed."""
    match result.decision:
        case Allowed(reason=reason):
            text = _tr("Allowed: {}").format(reason)
            tone = "done"
        case Denied(reason=reason):
            text = _tr("Denied: {}").format(reason)
            tone = "failed"
        case asks_first:
            text = _tr("Asks you first: {}").format(asks_first.request.reason)
            tone = "waiting"
    conditions = _tr("In a new session in {}, mode “Ask before edits and commands”.").format(result.folder)
    return TonedText(f"{text}\n{conditions}", tone)


async def _rules(engine: "Engine") -> tuple[PermissionRule, ...]:
    return engine.rules().rules or ()


async def _rules_to_import(folder: Path, engine: "Engine") -> _RulesToImport:
    """Read the permission lists of other agents. Raise Problem if the saved rules cannot be read."""
    from core.engine.policy.permission_lists import describe_lists, new_rules

    saved = engine.rules()
    if saved.rules is None:
        assert saved.error is not None
        raise Problem.from_details(saved.error)
    lists = await engine.permission_lists(folder)
    return _RulesToImport(list(describe_lists(lists)), new_rules(lists, saved.rules))


async def _tools(engine: "Engine") -> tuple[str, ...]:
    from core.tools.mcp_tools import mcp_tool_specs

    return (*engine.rule_tools(), *mcp_tool_specs(engine.settings.current.mcp_servers))


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
