"""The table of window commands. Shortcuts, palette, list of shortcuts, tooltips and help are generated from it."""

from typing import Final, NamedTuple

from ui.settings.page_titles import COMMAND_TITLES, SETTINGS_PAGES
from ui.shell.page_registry import PAGES
from ui.shell.session_view import SESSION_TABS


class Command(NamedTuple):
    """A command of the window.

    `group` is the heading under which it is listed. `keys` is its shortcut, and `also` a second one; single-letter
    shortcuts work only while no text field has the focus. `when` names the window state in which the command is
    available; empty means always. A `hidden` command is not in the palette, which nine entries "Go to session N" would
    clutter.
    """

    id: str
    text: str
    group: str
    keys: str = ""
    also: str = ""
    icon: str = ""
    when: str = ""
    hidden: bool = False


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
    Command("run.new", "New session", RUN, keys="Ctrl+N", icon="plus"),
    Command("run.demo", "Start the demo", RUN, icon="play"),
    Command("composer.focus", "Write a message", RUN, keys="Ctrl+L", icon="message-square", when="session"),
    Command("composer.attach", "Attach files", RUN, keys="Ctrl+Shift+A", icon="paperclip", when="message"),
    Command("run.pause", "Pause after this turn", RUN, keys="Ctrl+Shift+P", icon="circle-pause", when="running"),
    Command("run.resume", "Resume the run", RUN, icon="play", when="paused"),
    Command("run.compact", "Compact the context", RUN, icon="scissors", when="session"),
    Command("run.stop", "Stop the run", RUN, keys="Ctrl+.", icon="square", when="going"),
    Command("run.edit", "Edit and resend a message", RUN, keys="Ctrl+E", icon="pencil", when="repeat"),
    Command("run.model", "Try with another model", RUN, keys="Ctrl+Shift+R", icon="cpu", when="repeat"),
    Command("session.model", "Choose the model", RUN, keys="Ctrl+Shift+K", icon="cpu", when="session"),
    Command("run.find", "Find in this run", RUN, keys="Ctrl+F", icon="search", when="session"),
    Command("palette.commands", "Command palette", GO, keys="Ctrl+K", icon="search"),
    Command("palette.sessions", "Go to a session", GO, keys="Ctrl+P", icon="footprints"),
    Command("sessions.search", "Search sessions", GO, keys="Ctrl+Shift+F", icon="search"),
    Command(
        "question.next",
        "Go to the next session waiting for you",
        GO,
        keys="Ctrl+J",
        icon="circle-question-mark",
        when="waiting",
    ),
    *(
        Command(f"session.{n}", f"Go to session {n} in the list", GO, keys=f"Ctrl+{n}", hidden=True)
        for n in SESSION_NUMBERS
    ),
    *(Command(f"page.{page.id}", page.title, GO, keys=page.keys, icon=page.icon) for page in PAGES),
    *(
        Command(f"view.{name}", title, GO, keys=f"Alt+{n}", when="session")
        for n, (name, title) in enumerate(SESSION_TABS.items(), 1)
    ),
    Command("session.rename", "Rename the session", SESSION, keys="F2", icon="pencil", when="session"),
    Command("session.pin", "Pin or unpin the session", SESSION, keys="Ctrl+Shift+D", icon="pin", when="session"),
    Command(
        "session.archive",
        "Archive or unarchive the session",
        SESSION,
        keys="Ctrl+Shift+E",
        icon="archive",
        when="session",
    ),
    Command("session.tab", "Open or close a tab for the session", SESSION, keys="Ctrl+T", when="session"),
    Command(
        "session.beside", "Open or close the split view", SESSION, keys="Ctrl+Shift+S", icon="columns-2", when="session"
    ),
    Command("session.move", "Move the session to the other side", SESSION, keys="Ctrl+Shift+M", when="session"),
    Command("tab.close", "Close the tab", SESSION, keys="Ctrl+W", when="tab"),
    Command("tab.next", "Next tab", GO, keys="Ctrl+PgDown", when="session"),
    Command("tab.previous", "Previous tab", GO, keys="Ctrl+PgUp", when="session"),
    Command("page.back", "Go back from a page to the session", GO, keys="Alt+Left", icon="chevron-left", when="page"),
    Command("area.next", "Next area", GO, keys="F6"),
    Command("area.previous", "Previous area", GO, keys="Shift+F6"),
    Command(
        "side.other",
        "Go to the other side of the split view",
        GO,
        keys="Ctrl+F6",
        icon="arrow-left-right",
        when="sides",
    ),
    Command("session.trash", "Move the session to the trash", SESSION, icon="trash-2", when="session"),
    Command("session.fork", "Fork the session", SESSION, icon="share", when="session"),
    Command("session.replay", "Replay the session", SESSION, icon="history", when="session"),
    Command("session.export", "Export the session", SESSION, keys="Ctrl+Shift+X", icon="download", when="session"),
    Command("sessions.import", "Import sessions from other agents", SESSION, keys="Ctrl+O", icon="folder-open"),
    Command("session.folder", "Open the session's folder", SESSION, icon="folder", when="session"),
    Command("session.commit", "Commit changes", SESSION, keys="Ctrl+Shift+G", icon="git-branch", when="session"),
    Command("session.revert", "Revert files to a step", SESSION, icon="history", when="session"),
    Command("session.undo_revert", "Undo the last revert of files", SESSION, icon="undo-2", when="session"),
    Command("session.editor", "Open the session's folder in the editor", SESSION, icon="pencil", when="session"),
    Command("session.terminal", "Open a terminal in the session's folder", SESSION, icon="terminal", when="session"),
    Command(
        "toast.undo", "Undo what the last notification reports", SESSION, keys="Ctrl+Alt+Z", icon="undo-2", when="undo"
    ),
    Command("window.sidebar", "Show or hide the sidebar", VIEW, keys="Ctrl+B", icon="panel-left"),
    Command(
        "window.step", "Show or hide the step details", VIEW, keys="Ctrl+Shift+B", also="Q", icon="panel-right-open"
    ),
    Command("window.theme", "Switch between light and dark theme", VIEW, keys="Ctrl+Shift+L", icon="sun-moon"),
    Command("window.larger", "Increase text size", VIEW, keys="Ctrl+=", also="Ctrl++", icon="plus"),
    Command("window.smaller", "Decrease text size", VIEW, keys="Ctrl+-"),
    Command("window.usual", "Reset text size", VIEW, keys="Ctrl+0"),
    Command("window.full", "Enter or leave full screen", VIEW, keys="F11"),
    Command("window.settings", "Open settings", WINDOW, keys="Ctrl+,", icon="settings"),
    *(
        Command(settings_command_id(title), f"Settings: {COMMAND_TITLES.get(title, title)}", WINDOW, icon="settings")
        for title in SETTINGS_PAGES
    ),
    Command("window.help", "Open help", WINDOW, keys="F1", icon="book-open"),
    Command("window.keys", "Keyboard shortcuts", WINDOW, keys="?", also="Ctrl+/", icon="keyboard"),
    Command("window.close", "Quit", WINDOW, keys="Ctrl+Q", icon="x"),
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
