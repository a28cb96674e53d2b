"""The table of window commands. Shortcuts, palette, list of shortcuts, tooltips and help are generated from it."""

from typing import Final, NamedTuple

from ui.settings.page_titles import COMMAND_TITLES, SETTINGS_PAGES
from ui.shell.page_registry import PAGES
from ui.shell.session_view import SESSION_TABS


class Command(NamedTuple):
    """A command of the window.

    `keys` is its shortcut, and `also` a second one; single-letter shortcuts work only while no text field has the
    focus. `when` names the window state in which the command is available; empty means always. `group` is the heading
    under which it is listed.
    """

    id: str
    text: str
    keys: str
    icon: str = ""
    when: str = ""
    group: str = ""
    also: str = ""


RUN: Final = "Run"
GO: Final = "Go to"
SESSION: Final = "Session"
VIEW: Final = "View"
WINDOW: Final = "Window"

SESSION_NUMBERS: Final = range(1, 10)  # the sessions of the list that a shortcut opens


def settings_command_id(page_title: str) -> str:
    """Return the ID of the command that opens a page of the settings."""
    return f"settings.{page_title.lower().replace(' ', '-')}"


COMMANDS: Final = (
    # ID, text, keys, icon, when, group, also
    Command("run.new", "New session", "Ctrl+N", "plus", "", RUN),
    Command("run.demo", "Start the demo", "", "play", "", RUN),
    Command("composer.focus", "Write a message", "Ctrl+L", "message-square", "session", RUN),
    Command("composer.attach", "Attach files", "Ctrl+Shift+A", "paperclip", "message", RUN),
    Command("run.pause", "Pause after this turn", "Ctrl+Shift+P", "circle-pause", "running", RUN),
    Command("run.resume", "Resume the run", "", "play", "paused", RUN),
    Command("run.compact", "Compact the context", "", "scissors", "session", RUN),
    Command("run.stop", "Stop the run", "Ctrl+.", "square", "going", RUN),
    Command("run.edit", "Edit and resend a message", "Ctrl+E", "pencil", "repeat", RUN),
    Command("run.model", "Try with another model", "Ctrl+Shift+R", "cpu", "repeat", RUN),
    Command("session.model", "Choose the model", "Ctrl+Shift+K", "cpu", "session", RUN),
    Command("run.find", "Find in this run", "Ctrl+F", "search", "session", RUN),
    Command("palette.commands", "Command palette", "Ctrl+K", "search", "", GO),
    Command("palette.sessions", "Go to a session", "Ctrl+P", "footprints", "", GO),
    Command("sessions.search", "Search sessions", "Ctrl+Shift+F", "search", "", GO),
    Command("question.next", "Go to the next session waiting for you", "Ctrl+J", "circle-question-mark", "waiting", GO),
    *(
        Command(f"session.{n}", f"Go to session {n} in the list", f"Ctrl+{n}", "", "hidden", GO)
        for n in SESSION_NUMBERS
    ),
    *(Command(f"page.{page.id}", page.title, page.keys, page.icon, "", GO) for page in PAGES),
    *(
        Command(f"view.{name}", title, f"Alt+{n}", "", "session", GO)
        for n, (name, title) in enumerate(SESSION_TABS.items(), 1)
    ),
    Command("session.rename", "Rename the session", "F2", "pencil", "session", SESSION),
    Command("session.pin", "Pin or unpin the session", "Ctrl+Shift+D", "pin", "session", SESSION),
    Command("session.archive", "Archive or unarchive the session", "Ctrl+Shift+E", "archive", "session", SESSION),
    Command("session.tab", "Open or close a tab for the session", "Ctrl+T", "", "session", SESSION),
    Command("session.beside", "Open or close the split view", "Ctrl+Shift+S", "columns-2", "session", SESSION),
    Command("session.move", "Move the session to the other side", "Ctrl+Shift+M", "", "session", SESSION),
    Command("tab.close", "Close the tab", "Ctrl+W", "", "tab", SESSION),
    Command("tab.next", "Next tab", "Ctrl+PgDown", "", "session", GO),
    Command("tab.previous", "Previous tab", "Ctrl+PgUp", "", "session", GO),
    Command("page.back", "Go back from a page to the session", "Alt+Left", "chevron-left", "page", GO),
    Command("area.next", "Next area", "F6", "", "", GO),
    Command("area.previous", "Previous area", "Shift+F6", "", "", GO),
    Command("side.other", "Go to the other side of the split view", "Ctrl+F6", "arrow-left-right", "sides", GO),
    Command("session.trash", "Move the session to the trash", "", "trash-2", "session", SESSION),
    Command("session.fork", "Fork the session", "", "share", "session", SESSION),
    Command("session.replay", "Replay the session", "", "history", "session", SESSION),
    Command("session.export", "Export the session", "Ctrl+Shift+X", "download", "session", SESSION),
    Command("sessions.import", "Import sessions from other agents", "Ctrl+O", "folder-open", "", SESSION),
    Command("session.folder", "Open the session's folder", "", "folder", "session", SESSION),
    Command("session.commit", "Commit changes", "Ctrl+Shift+G", "git-branch", "session", SESSION),
    Command("session.revert", "Revert files to a step", "", "history", "session", SESSION),
    Command("session.undo_revert", "Undo the last revert of files", "", "undo-2", "session", SESSION),
    Command("session.editor", "Open the session's folder in the editor", "", "pencil", "session", SESSION),
    Command("session.terminal", "Open a terminal in the session's folder", "", "terminal", "session", SESSION),
    Command("toast.undo", "Undo what the last notification reports", "Ctrl+Alt+Z", "undo-2", "undo", SESSION),
    Command("window.sidebar", "Show or hide the sidebar", "Ctrl+B", "panel-left", "", VIEW),
    Command("window.step", "Show or hide the step details", "Ctrl+Shift+B", "panel-right-open", "", VIEW, "Q"),
    Command("window.theme", "Switch between light and dark theme", "Ctrl+Shift+L", "sun-moon", "", VIEW),
    Command("window.larger", "Increase text size", "Ctrl+=", "plus", "", VIEW, "Ctrl++"),
    Command("window.smaller", "Decrease text size", "Ctrl+-", "", "", VIEW),
    Command("window.usual", "Reset text size", "Ctrl+0", "", "", VIEW),
    Command("window.full", "Enter or leave full screen", "F11", "", "", VIEW),
    Command("window.settings", "Open settings", "Ctrl+,", "settings", "", WINDOW),
    *(
        Command(settings_command_id(title), f"Settings: {COMMAND_TITLES.get(title, title)}", "", "settings", "", WINDOW)
        for title in SETTINGS_PAGES
    ),
    Command("window.help", "Open help", "F1", "book-open", "", WINDOW),
    Command("window.keys", "Keyboard shortcuts", "?", "keyboard", "", WINDOW, "Ctrl+/"),
    Command("window.close", "Quit", "Ctrl+Q", "x", "", WINDOW),
)

# Commands that are also slash commands of the composer.
SLASH: Final = {
    "stop": "run.stop",
    "pause": "run.pause",
    "resume": "run.resume",
    "compact": "run.compact",
    "new": "run.new",
    "fork": "session.fork",
    "rename": "session.rename",
    "export": "session.export",
    "pin": "session.pin",
    "archive": "session.archive",
    "attach": "composer.attach",
    "model": "session.model",
    "settings": "window.settings",
    "keys": "window.keys",
}
