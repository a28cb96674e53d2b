"""What can be done in the window, in one table: keys, tips and help come from it."""

from typing import Final, NamedTuple


class Command(NamedTuple):
    """`when` names the state of the window in which the command can be given; empty means always."""

    id: str
    text: str
    keys: str
    icon: str = ""
    when: str = ""


COMMANDS: Final = (
    Command("run.new", "New run", "Ctrl+N", "plus"),
    Command("sessions.search", "Search sessions", "Ctrl+Shift+F", "search"),
    Command("question.next", "Go to the next question", "Ctrl+J", "circle-question-mark", "waiting"),
    Command("run.stop", "Stop the run", "Ctrl+.", "square", "going"),
    Command("run.find", "Find in this run", "Ctrl+F", "search", "session"),
    Command("composer.focus", "Write a message", "Ctrl+L", "message-square", "session"),
    Command("window.sidebar", "Show or hide the sessions", "Ctrl+B", "panel-left"),
    Command("window.step", "Show or hide the step", "Ctrl+Shift+B", "panel-right-open"),
    Command("window.theme", "Light or dark", "Ctrl+Shift+L", "sun-moon"),
    Command("window.full", "Full screen", "F11"),
    Command("window.close", "Quit", "Ctrl+Q"),
)
