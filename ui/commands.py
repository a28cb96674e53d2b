"""What can be done in the window, in one table: keys, palette, key sheet, tips and help come from it."""

from typing import Final, NamedTuple

from ui.panels import PANELS


class Command(NamedTuple):
    """`when` names the state of the window in which the command can be given; empty means always.

    `also` is a second key; a single letter acts only while no text field has the keyboard.
    """

    id: str
    text: str
    keys: str
    icon: str = ""
    when: str = ""
    group: str = ""
    also: str = ""


RUN, GO, SESSION, VIEW, WINDOW = "Run", "Go to", "Session", "View", "Window"

COMMANDS: Final = (
    Command("run.new", "New run", "Ctrl+N", "plus", "", RUN),
    Command("run.demo", "Start the demo", "", "play", "", RUN),
    Command("composer.focus", "Write a message", "Ctrl+L", "message-square", "session", RUN),
    Command("composer.attach", "Attach files", "Ctrl+Shift+A", "paperclip", "session", RUN),
    Command("run.pause", "Pause after this round", "Ctrl+Shift+P", "circle-pause", "running", RUN),
    Command("run.compact", "Compact the context", "", "scissors", "session", RUN),
    Command("run.stop", "Stop the run", "Ctrl+.", "square", "going", RUN),
    Command("run.find", "Find in this run", "Ctrl+F", "search", "session", RUN),
    Command("palette.commands", "Commands", "Ctrl+K", "search", "", GO),
    Command("palette.sessions", "Go to a session", "Ctrl+P", "footprints", "", GO),
    Command("sessions.search", "Search sessions", "Ctrl+Shift+F", "search", "", GO),
    Command("question.next", "Go to the next question", "Ctrl+J", "circle-question-mark", "waiting", GO),
    *(Command(f"session.{n}", f"Session {n} of the list", f"Ctrl+{n}", "", "hidden", GO) for n in range(1, 10)),
    *(Command(f"page.{panel.id}", panel.title, panel.keys, panel.icon, "", GO) for panel in PANELS),
    Command("session.rename", "Rename the session", "F2", "pencil", "session", SESSION),
    Command("session.pin", "Pin or unpin the session", "Ctrl+Shift+D", "pin", "session", SESSION),
    Command("session.archive", "Archive the session, or take it out", "Ctrl+Shift+E", "archive", "session", SESSION),
    Command("session.tab", "Keep the session in a tab, or close its tab", "Ctrl+T", "", "session", SESSION),
    Command(
        "session.beside", "Show another session beside, or no more", "Ctrl+Shift+S", "columns-2", "session", SESSION
    ),
    Command("session.move", "Move the session to the other side", "Ctrl+Shift+M", "", "session", SESSION),
    Command("tab.close", "Close the tab", "Ctrl+W", "", "tab", SESSION),
    Command("tab.next", "Next tab", "Ctrl+PgDown", "", "session", GO),
    Command("tab.previous", "Previous tab", "Ctrl+PgUp", "", "session", GO),
    Command("side.other", "Go to the session on the other side", "Ctrl+F6", "arrow-left-right", "sides", GO),
    Command("session.trash", "Move the session to the trash", "", "trash-2", "session", SESSION),
    Command("session.fork", "Fork the session", "", "share", "session", SESSION),
    Command("session.export", "Export the session", "E", "download", "session", SESSION),
    Command("sessions.import", "Open runs of other agents", "Ctrl+O", "folder-open", "", SESSION),
    Command("session.folder", "Show the folder of the session", "", "folder", "session", SESSION),
    Command("toast.undo", "Take the last change of the list back", "Ctrl+Alt+Z", "undo-2", "undo", SESSION),
    Command("window.sidebar", "Show or hide the sessions", "Ctrl+B", "panel-left", "", VIEW),
    Command("window.step", "Show or hide the step", "Ctrl+Shift+B", "panel-right-open", "", VIEW, "Q"),
    Command("window.theme", "Light or dark", "Ctrl+Shift+L", "sun-moon", "", VIEW),
    Command("window.larger", "Larger letters", "Ctrl+=", "plus", "", VIEW, "Ctrl++"),
    Command("window.smaller", "Smaller letters", "Ctrl+-", "", "", VIEW),
    Command("window.usual", "Letters of the usual size", "Ctrl+0", "", "", VIEW),
    Command("window.full", "Full screen", "F11", "", "", VIEW),
    Command("window.settings", "Settings", "Ctrl+,", "settings", "", WINDOW),
    Command("window.help", "Help", "F1", "book-open", "", WINDOW),
    Command("window.keys", "Keys", "?", "keyboard", "", WINDOW, "Ctrl+/"),
    Command("window.close", "Quit", "Ctrl+Q", "x", "", WINDOW),
)

# What can be typed after a slash at the start of a message.
SLASH: Final = {
    "stop": "run.stop",
    "pause": "run.pause",
    "compact": "run.compact",
    "new": "run.new",
    "fork": "session.fork",
    "rename": "session.rename",
    "export": "session.export",
    "pin": "session.pin",
    "archive": "session.archive",
    "attach": "composer.attach",
    "settings": "window.settings",
    "keys": "window.keys",
}
