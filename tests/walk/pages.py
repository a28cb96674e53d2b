"""Acts with the rest of the window: lists, pages, settings, dialogs, tabs, menus, sizes, restarts."""

import json

from core.domain.sessions import SessionRow
from core.store.reader import Reader
from tests.e2e.tree import CHECKED
from tests.walk.runs import begun
from tests.walk.walk import Walk

MENUS = ("composer.mode", "composer.model", "status.waiting")
HARMLESS = ("Light or dark", "Larger letters", "Smaller letters", "Letters of the usual size", "Show or hide the step")
SIZES = ((900, 640), (1_200, 700), (1_440, 860))
SECTIONS = ("Skills", "Memory", "Usage")


def search(walk: Walk) -> None:
    """Through all sessions; a hit shows its place."""
    walk.hands.command("Search sessions", "ctrl+shift+f")
    walk.walker.has_focus("sessions.search")
    walk.walker.write(walk.chance.choice(("blue", "board", "damp meter", "line of it")))
    walk.walker.until(
        lambda: walk.walker.seen("sessions.list", "Found in the text") or walk.walker.seen("sessions.empty"), "hits"
    )
    walk.display.keys("Down", "Return")
    walk.walker.thing("sessions.new")
    walk.hands.command("Search sessions", "ctrl+shift+f")
    walk.display.keys("Escape")
    walk.walker.gone("sessions.search")


def settings(walk: Walk) -> None:
    """Each page is looked at; one figure is found and changed."""
    walk.hands.command("Settings", "ctrl+comma")
    pages = walk.walker.thing("settings.pages", role="list")
    if walk.by == "mouse":
        for one in walk.walker.seen("settings.pages", role="list item"):
            walk.display.click(*one.area.middle)
    else:
        walk.walker.tab_to("settings.pages")
        walk.display.keys("Home", *["Down"] * 12)
    assert pages.name
    rounds = str(walk.chance.randint(20, 90))
    walk.hands.write_into("settings.search", "round")
    walk.walker.thing("settings.max_rounds")
    walk.hands.write_into("settings.max_rounds", rounds)
    walk.hands.press("settings.close", keys="Escape")
    walk.walker.gone("settings.search")
    file = walk.home / "settings.json"
    walk.until(lambda: json.loads(file.read_text()).get("max_rounds") == int(rounds), "the setting is kept")


def skill(walk: Walk) -> None:
    """A new one: named, written, saved."""
    name = walk.name("skill").replace(" ", "-")
    walk.hands.page("Skills")
    walk.hands.press("skills.new", keys="ctrl+shift+n")  # in the editor Tab is a sign of the text
    walk.walker.thing("skill.name.field")
    walk.hands.write_into("skill.name.field", name)
    walk.hands.press("skill.name.yes", keys="Return")
    walk.walker.gone("skill.name.field")
    walk.walker.thing("skill.source")
    walk.hands.press("skill.source", keys="shift+Tab") if walk.by == "mouse" else walk.walker.tab_to("skill.source")
    walk.display.keys("ctrl+End")
    walk.walker.write("Write the date first.")
    walk.hands.press("skill.save", keys="ctrl+s")
    walk.walker.until(lambda: _skills(walk).get(name, 0) >= 1, "it is saved")
    for tab in ("Difference", "Used in", "Write"):
        if walk.by == "mouse":  # Tab is a sign of the text there
            walk.hands.turn("skill.tabs", tab)


def _skills(walk: Walk) -> dict[str, int]:
    """Names, and how many versions."""
    reader = Reader(walk.home / "journeyman.db")
    try:
        return dict(reader._db.execute("SELECT name, head FROM skill"))
    finally:
        reader.close()


def memory(walk: Walk) -> None:
    """One is written, changed, forgotten, and that is taken back."""
    text = walk.name("The fact")
    walk.hands.page("Memory")
    walk.hands.press("memory.add")
    walk.hands.write_into("memory.write.text", text)
    walk.hands.press("memory.write.yes")
    walk.walker.gone("memory.write")
    walk.hands.write_into("memory.search", text)
    line = walk.walker.thing("memory.list", text, "list item")
    if walk.by == "mouse":
        walk.display.click(*line.area.middle)
    else:
        walk.walker.tab_to("memory.list")
        walk.display.keys("Home")
    walk.walker.thing("memory.card.text", text)
    walk.hands.press("memory.card.forget", keys="Delete")
    walk.walker.gone("memory.list", text, "list item")
    walk.hands.press("toast.undo", keys="ctrl+alt+z")
    walk.walker.thing("memory.list", text, "list item")
    walk.hands.write_into("memory.search", " ")


def review(walk: Walk) -> None:
    """What an agent wants to keep is kept or rejected."""
    row = begun(walk, walk.name("Remember"))
    walk.comes_to(row.id, "done", "waiting")
    walk.hands.page("Memory")
    walk.walker.thing("memory.list")
    if not walk.walker.seen("memory.waits"):
        return
    walk.hands.press("memory.waits")
    word = walk.chance.choice(("keep", "reject"))
    walk.walker.thing(f"memory.proposal.{word}")
    walk.hands.press(f"memory.proposal.{word}")


def usage(walk: Walk) -> None:
    walk.hands.page("Usage")
    for part, word in (("range", "7"), ("range", "all"), ("measure", "cost"), ("by", "model"), ("by", "day")):
        walk.hands.take(f"usage.{part}", word)
        walk.walker.until(lambda: _taken(walk, f"usage.{part}.{word}"), f"{part} {word}")  # noqa: B023 - now
    walk.walker.thing("usage.table")


def _taken(walk: Walk, name: str) -> bool:
    return any(one.has(CHECKED) for one in walk.walker.seen(name))


def file_away(walk: Walk) -> None:
    """Pinned, archived, thrown away; each taken back, but an old one stays in the trash."""
    row = walk.chance.choice(walk.rows("done", "stopped", "failed"))
    item, command, keys = walk.chance.choice(
        (("Archive", "Archive the session", "ctrl+shift+e"), ("Move to the trash", "Move the session to the trash", ""))
    )
    count = len(walk.rows())
    walk.hands.file(row.title, item, command, keys)
    walk.walker.until(lambda: len(walk.rows()) < count, "it is away")
    if len(walk.rows()) < 12:
        walk.hands.press("toast.undo", keys="ctrl+alt+z")
        walk.walker.until(lambda: len(walk.rows()) == count, "it is back")


def named_apart(walk: Walk) -> list[SessionRow]:
    """One of each title: a fork has that of what it was forked from."""
    return list({row.title: row for row in walk.rows()}.values())


def beside(walk: Walk) -> None:
    """Two sessions side by side."""
    first, second = walk.chance.sample(named_apart(walk), 2)
    walk.hands.session(first.title)
    walk.hands.command("Show another session beside", "ctrl+shift+s")
    walk.walker.has_focus("palette.field")
    walk.walker.write(second.title)
    walk.walker.thing("palette.list", second.title, "list item")
    walk.display.keys("Return")
    walk.walker.gone("palette.field")
    walk.walker.thing("beside")
    walk.hands.command("Show another session beside", "ctrl+shift+s")
    walk.walker.gone("beside")


def tabs(walk: Walk) -> None:
    """Two sessions at hand, and from one to the other; then each tab is closed."""
    for row in walk.chance.sample(named_apart(walk), 2):
        walk.hands.session(row.title)
        walk.hands.command("Keep the session in a tab", "ctrl+t")
    walk.walker.thing("side.tabs", role="page tab")
    walk.hands.command("Previous tab", "ctrl+Prior")
    while left := len(walk.walker.seen("side.tabs", role="page tab")):
        walk.hands.command("Next tab", "ctrl+Next")
        walk.hands.command("Keep the session in a tab", "ctrl+t")
        walk.walker.until(lambda: len(walk.walker.seen("side.tabs", role="page tab")) < left, "a tab less")


def commands(walk: Walk) -> None:
    """Of those that harm nothing, some; light is light again in the end."""
    for words in walk.chance.sample(HARMLESS, 3):
        walk.hands.command(words)
        if words == "Light or dark" or words.startswith("Show"):
            walk.hands.command(words)
    walk.hands.command("Letters of the usual size", "ctrl+0")


def menus(walk: Walk) -> None:
    """Each menu opens, every line of it says something, and Escape closes it."""
    walk.hands.session(walk.chance.choice(walk.rows()).title)
    for button in MENUS:
        if not any(one.can_be_used() for one in walk.walker.seen(button)):
            continue
        walk.hands.press(button)
        lines = walk.walker.until_seen(role="menu item")
        assert all(one.name.strip() for one in lines), [str(one) for one in lines]
        walk.display.keys("Escape")
        walk.walker.gone(role="menu item")


def helps(walk: Walk) -> None:
    """The pages of help, and the sheet of keys."""
    walk.hands.command("Help", "F1")
    walk.walker.thing("help.text")
    walk.hands.press("help.close", keys="Escape")
    walk.walker.gone("help.text")
    walk.hands.command("Keys", "ctrl+slash")
    walk.walker.thing("keys.close")
    walk.display.keys("Escape")
    walk.walker.gone("keys.close")


def sizes(walk: Walk) -> None:
    """Small, wide, over the whole screen, as it was."""
    window = walk.display.hand("search", "--onlyvisible", "--name", "Journeyman").split()[0]
    for width, height in (*walk.chance.sample(SIZES, 2), SIZES[-1]):
        walk.display.hand("windowsize", "--sync", window, width, height)
        walk.walker.thing("status.commands")
    walk.hands.command("Full screen", "F11")
    walk.walker.thing("status.commands")
    walk.hands.command("Full screen", "F11")
    walk.display.hand("windowsize", "--sync", window, *SIZES[-1])
    walk.walker.thing("status.commands")


def step(walk: Walk) -> None:
    """Steps one after the other, and all that is told of one."""
    walk.hands.session(walk.chance.choice(walk.rows()).title)
    walk.hands.turn("run.tabs", "Steps")
    rows = walk.walker.until_seen("timeline.steps", role="cell")
    if walk.by == "mouse":
        for one in walk.chance.sample(rows, min(4, len(rows))):
            walk.display.click(one.area.left + 60, one.area.top + 8)
    else:
        walk.walker.tab_to("timeline.steps")
        walk.display.keys("Home", "Down", "Down", "Return", "Return", "bracketright", "bracketleft", "End")
    for tab in [one.name for one in walk.walker.seen("step.tabs", role="page tab") if one.can_be_used()]:
        walk.hands.turn("step.tabs", tab)


def sections(walk: Walk) -> None:
    """From page to page, and back to a session."""
    for name in walk.chance.sample(SECTIONS, 3):
        walk.hands.page(name)
    walk.hands.session(walk.rows()[0].title)
