"""The Packages page: each installed package with everything it contains, and a row to add another one."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from ui.settings.mcp_server_card import server_location
from ui.style.theme import Look, set_style_properties
from ui.text.visible import visible
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.dialog_parts import open_folder_picker
from ui.widgets.labels import allow_breaks, error_text, label, styled_frame
from ui.widgets.replaceable_content import ReplaceableContent
from ui.widgets.toned_text import TonedText

if TYPE_CHECKING:
    from core.engine.services.packages import PackageOverview

MAX_DESCRIPTION: Final = 200


class PackageAction(StrEnum):
    """Actions on packages. A signal carries an action as text, the package, and the digest of the files on display."""

    RELOAD = "reload"
    TRUST = "trust"
    UNTRUST = "untrust"
    UPDATE = "update"
    REMOVE = "remove"


class PackagesPage(QWidget):
    """The packages, and a row in which another one can be added."""

    action_requested = Signal(str, str, str)  # a `PackageAction`, the package, the digest
    add_requested = Signal(str, str, str)  # the source; its branch, tag or commit; the folder of the package in it

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self._outcomes: dict[str, TonedText] = {}
        self._busy = False
        self._overviews: Sequence[PackageOverview] | None = None
        self.setObjectName("settings.packages")
        self._source = self._field("source", _tr("Folder or git address"), _tr("Folder or git address"))
        self._ref = self._field("ref", _tr("Branch, tag or commit"), _tr("Branch, tag, commit"))
        self._path = self._field("path", _tr("Folder inside the source"), _tr("Subfolder"))
        choose = Button(look, _tr("Choose…"), name="settings.packages.choose")
        choose.setAccessibleName(_tr("Choose the folder of a package"))
        choose.clicked.connect(self._choose)
        self._add = Button(look, _tr("Add package"), name="settings.packages.add", tone="primary")
        self._add.clicked.connect(self._emit_added)
        self._result = label("", look.fonts.second, "second", name="settings.packages.result", wrap=True)
        self._result.hide()
        self._shown = ReplaceableContent()
        self._lay_out(choose)
        self._source.textChanged.connect(self._update_state)
        self._update_state()
        self._fill()

    def show_packages(self, overviews: "Sequence[PackageOverview]") -> None:
        self._overviews = overviews
        self._fill()

    def show_outcome(self, package: str, outcome: TonedText) -> None:
        """Show the progress or result of an action on a package."""
        self._outcomes[package] = outcome
        self._fill()
        if outcome.text:
            announce(self, outcome.text)

    def show_adding(self, outcome: TonedText) -> None:
        """Show the progress or result of adding a package below the row that adds packages."""
        text = visible(outcome.text)
        self._result.setText(error_text(text) if outcome.tone == "failed" else allow_breaks(text))
        set_style_properties(self._result, tone=outcome.tone)
        self._result.setVisible(bool(text))
        if text:
            announce(self, outcome.text)

    def set_busy(self, busy: bool) -> None:
        """Set whether a package is being fetched, which disables the button that adds packages."""
        self._busy = busy
        self._update_state()

    def clear(self) -> None:
        """Clear the input fields. Called when a package was added."""
        for field in (self._source, self._ref, self._path):
            field.clear()

    def _fill(self) -> None:
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        if self._overviews is None:
            column.addWidget(self._note(_tr("Looking for packages…"), "looking"))
        elif not self._overviews:
            column.addWidget(self._note(_tr("No packages yet. Add one from a folder or a git address."), "none"))
        for overview in self._overviews or ():
            column.addWidget(self._card(overview))
        self._shown.replace_content(content)

    def _card(self, overview: "PackageOverview") -> QWidget:
        look = self._look
        name = overview.package.name
        frame = styled_frame("well")
        frame.setObjectName(f"settings.package.{name}")
        column = QVBoxLayout(frame)
        column.setContentsMargins(12, 8, 8, 10)
        column.setSpacing(4)
        title = " ".join(filter(None, (name, overview.contents.version)))
        column.addWidget(label(visible(title), look.fonts.strong, wrap=True))
        buttons = QHBoxLayout()
        buttons.setSpacing(6)
        for action, text in self._actions(overview).items():
            button = Button(look, text, name=f"settings.package.{name}.{action}")
            button.setAccessibleName(f"{text} {name}")
            button.clicked.connect(
                lambda _=False, action=action: self.action_requested.emit(action, name, overview.digest)
            )
            buttons.addWidget(button)
        buttons.addStretch(1)
        column.addWidget(label(visible(_origin(overview)), look.fonts.mono, "second", wrap=True))
        state = self._line(state_line(overview))
        state.setObjectName(f"settings.package.{name}.state")
        column.addWidget(state)
        for line in content_lines(overview):
            column.addWidget(self._line(line))
        if (outcome := self._outcomes.get(name)) and outcome.text:
            outcome_label = self._line(outcome)
            outcome_label.setObjectName(f"settings.package.{name}.said")
            column.addWidget(outcome_label)
        column.addSpacing(2)
        column.addLayout(buttons)
        return frame

    def _actions(self, overview: "PackageOverview") -> dict[PackageAction, str]:
        """Return the actions that are possible in the state of a package, with the texts of their buttons."""
        actions: dict[PackageAction, str] = {}
        if overview.state in ("untrusted", "changed"):
            actions[PackageAction.TRUST] = _tr("Trust…") if overview.state == "untrusted" else _tr("Trust again…")
        if overview.state in ("trusted", "changed"):
            actions[PackageAction.UNTRUST] = _tr("Stop using")
        return {**actions, PackageAction.UPDATE: _tr("Update"), PackageAction.REMOVE: _tr("Remove")}

    def _line(self, line: TonedText) -> QWidget:
        return label(visible(line.text), self._look.fonts.second, line.tone, wrap=True)

    def _note(self, text: str, name: str) -> QWidget:
        return label(text, self._look.fonts.second, "second", name=f"settings.packages.{name}", wrap=True)

    def _field(self, name: str, accessible_name: str, hint: str) -> QLineEdit:
        field = QLineEdit()
        field.setObjectName(f"settings.packages.{name}")
        field.setAccessibleName(accessible_name)
        field.setPlaceholderText(hint)
        field.setFont(self._look.fonts.text)
        field.returnPressed.connect(self._emit_added)
        return field

    def _update_state(self) -> None:
        self._add.setEnabled(not self._busy and bool(self._source.text().strip()))

    def _choose(self) -> None:
        title = _tr("Choose the folder of a package")
        open_folder_picker(self, title, self._source.text(), self._source.setText, name="settings.packages.folders")

    def _emit_added(self) -> None:
        if self._add.isEnabled():
            self.add_requested.emit(self._source.text().strip(), self._ref.text().strip(), self._path.text().strip())

    def _lay_out(self, choose: Button) -> None:
        about = _tr(
            "A package brings hooks, MCP servers, skills and slash commands together. It is copied here and pinned to "
            "its files. It is not used before you trust it, and a changed file stops it until you trust it "
            "again."
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(label(about, self._look.fonts.second, "second", wrap=True))
        source_row = QHBoxLayout()
        source_row.setSpacing(8)
        source_row.addWidget(self._source, 1)
        source_row.addWidget(choose)
        column.addLayout(source_row)
        version_row = QHBoxLayout()
        version_row.setSpacing(8)
        version_row.addWidget(self._ref, 1)
        version_row.addWidget(self._path, 1)
        version_row.addWidget(self._add)
        column.addLayout(version_row)
        column.addWidget(self._result)
        column.addWidget(self._shown)


def state_line(overview: "PackageOverview") -> TonedText:
    """Return a text that says whether a package is used."""
    if overview.error:
        return TonedText(str(overview.error), "failed")
    texts: Mapping[str, TonedText] = {
        "trusted": TonedText(_tr("Used"), "done"),
        "untrusted": TonedText(_tr("Not used yet. Read what it brings, then trust it or remove it."), "waiting"),
        "changed": TonedText(_tr("Not used, because these files have changed since you trusted it."), "waiting"),
    }
    return texts.get(overview.state, TonedText(_tr("Its files are missing or damaged."), "failed"))


def content_lines(overview: "PackageOverview") -> Iterator[TonedText]:
    """Yield lines about everything in a package, including what will not be used."""
    from core.engine.services.packages import skill_description

    contents = overview.contents
    for change in overview.changed:
        yield TonedText(change, "waiting")
    if contents.description:
        yield TonedText(_short(contents.description), "second")
    for line in running_lines(overview):
        yield TonedText(line, "")
    for skill in contents.skills:
        description = _short(skill_description(skill))
        yield TonedText(_tr("Skill {name}: {text}").format(name=skill.name, text=description), "")
        for finding in skill.findings:
            if finding.level != "note":
                text = _tr("Line {line}: {text}").format(line=finding.line, text=finding.message)
                yield TonedText(text, "failed" if finding.level == "error" else "waiting")
    for command in contents.commands:
        yield TonedText(f"/{command.name}: {_short(command.description)}", "")
    for reason in contents.unused:
        yield TonedText(_tr("Not used: {}").format(reason), "third")


def running_lines(overview: "PackageOverview") -> Iterator[str]:
    """Yield lines about what in a package runs with the user's permissions: its hooks and MCP servers."""
    for hook in overview.contents.hooks:
        tools = f" ({', '.join(hook.tools)})" if hook.tools else ""
        yield _tr("Hook at {moment}: {command}").format(moment=f"{hook.on}{tools}", command=hook.command)
    for imported in overview.contents.servers:
        keys = ", ".join(variable.name for variable in imported.server.variables)
        receives = _tr(" · receives {}").format(keys) if keys else ""
        yield _tr("MCP server {name}: {place}").format(
            name=imported.server.name, place=f"{server_location(imported.server)}{receives}"
        )


def _origin(overview: "PackageOverview") -> str:
    package = overview.package
    inner = f" · {package.path}" if package.path else ""
    ref = f" · {package.ref}" if package.ref and not package.commit.startswith(package.ref) else ""
    commit = _tr(" · commit {}").format(package.commit[:12]) if package.commit else ""
    return f"{package.source}{inner}{ref}{commit}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_DESCRIPTION else f"{line[: MAX_DESCRIPTION - 1]}…"


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
