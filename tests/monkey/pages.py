"""Actions outside of runs: lists, pages, settings, dialogs, tabs, menus and window sizes."""

import json

from core.domain.sessions import SessionRow
from core.store.reader import Reader
from tests.e2e.accessibility import CHECKED
from tests.monkey.monkey_run import MonkeyRun
from tests.monkey.runs import start_run

MENUS = ("composer.mode", "composer.model", "status.waiting")
HARMLESS = (
    "Switch between light and dark theme", "Increase text size", "Decrease text size", "Reset text size",
    "Show or hide the step details",
)  # fmt: skip
SIZES = ((900, 640), (1_200, 700), (1_440, 860))
SECTIONS = ("Skills", "Memory", "Usage")


def search(walk: MonkeyRun) -> None:
    """Search all sessions and open a result."""
    walk.input_method.run_command("Search sessions", "ctrl+shift+f")
    walk.user.wait_for_focus("sessions.search")
    walk.user.type_text(walk.rng.choice(("blue", "board", "damp meter", "line of it")))
    walk.user.wait_until(
        lambda: walk.user.find("sessions.list", "Found in the text") or walk.user.find("sessions.empty"), "hits"
    )
    walk.display.keys("Down", "Return")
    walk.user.wait_for("sessions.new")
    walk.input_method.run_command("Search sessions", "ctrl+shift+f")
    walk.display.keys("Escape")
    walk.user.wait_until_gone("sessions.search")


def settings(walk: MonkeyRun) -> None:
    """Open each settings page, then find and change a setting."""
    walk.input_method.run_command("Open settings", "ctrl+comma")
    pages = walk.user.wait_for("settings.pages", role="list")
    if walk.input_name == "mouse":
        for one in walk.user.find("settings.pages", role="list item"):
            walk.display.click(*one.area.middle)
    else:
        walk.user.tab_to("settings.pages")
        walk.display.keys("Home", *["Down"] * 12)
    assert pages.name
    turns = str(walk.rng.randint(20, 90))
    walk.input_method.replace_text("settings.search", "turns")
    walk.user.wait_for("settings.max_turns")
    walk.input_method.replace_text("settings.max_turns", turns)
    walk.input_method.press("settings.close", keys="Escape")
    walk.user.wait_until_gone("settings.search")
    file = walk.home / "settings.json"
    walk.until(lambda: json.loads(file.read_text()).get("max_turns") == int(turns), "the setting is saved")


def skill(walk: MonkeyRun) -> None:
    """Create a skill: name, write and save it."""
    name = walk.unique_name("skill").replace(" ", "-")
    walk.input_method.open_page("Skills")
    walk.input_method.press("skills.new", keys="ctrl+shift+n")  # in the editor Tab inserts a tab
    walk.user.wait_for("skill.name.field")
    walk.input_method.replace_text("skill.name.field", name)
    walk.input_method.press("skill.name.yes", keys="Return")
    walk.user.wait_until_gone("skill.name.field")
    walk.user.wait_for("skill.source")
    walk.input_method.press("skill.source", keys="shift+Tab") if walk.input_name == "mouse" else walk.user.tab_to(
        "skill.source"
    )
    walk.display.keys("ctrl+End")
    walk.user.type_text("Write the date first.")
    walk.input_method.press("skill.save", keys="ctrl+s")
    walk.user.wait_until(lambda: _skills(walk).get(name, 0) >= 1, "it is saved")
    for tab in ("Compare", "Used in", "Edit"):
        if walk.input_name == "mouse":  # in the editor the Tab key inserts a tab
            walk.input_method.switch_tab("skill.tabs", tab)


def _skills(walk: MonkeyRun) -> dict[str, int]:
    """Return the number of versions of each skill by name."""
    reader = Reader(walk.home / "journeyman.db")
    try:
        return dict(reader._db.execute("SELECT name, latest_version FROM skill"))
    finally:
        reader.close()


def memory(walk: MonkeyRun) -> None:
    """Add a memory, forget it, and undo that."""
    text = walk.unique_name("The fact")
    walk.input_method.open_page("Memory")
    walk.input_method.press("memory.add")
    walk.input_method.replace_text("memory.write.text", text)
    walk.input_method.press("memory.write.yes")
    walk.user.wait_until_gone("memory.write")
    walk.input_method.replace_text("memory.search", text)
    line = walk.user.wait_for("memory.list", text, "list item")
    if walk.input_name == "mouse":
        walk.display.click(*line.area.middle)
    else:
        walk.user.tab_to("memory.list")
        walk.display.keys("Home")
    walk.user.wait_for("memory.card.text", text)
    walk.input_method.press("memory.card.forget", keys="Delete")
    walk.user.wait_until_gone("memory.list", text, "list item")
    walk.input_method.press("toast.undo", keys="ctrl+alt+z")
    walk.user.wait_for("memory.list", text, "list item")
    walk.input_method.replace_text("memory.search", " ")


def review(walk: MonkeyRun) -> None:
    """Accept or reject a proposed memory."""
    row = start_run(walk, walk.unique_name("Remember"))
    walk.wait_for_status(row.id, "done", "waiting")
    walk.input_method.open_page("Memory")
    walk.user.wait_for("memory.list")
    if not walk.user.find("memory.waits"):
        return
    walk.input_method.press("memory.waits")
    word = walk.rng.choice(("keep", "reject"))
    walk.user.wait_for(f"memory.proposal.{word}")
    walk.input_method.press(f"memory.proposal.{word}")


def usage(walk: MonkeyRun) -> None:
    walk.input_method.open_page("Usage")
    for part, word in (("range", "7"), ("range", "all"), ("measure", "cost"), ("by", "model"), ("by", "day")):
        walk.input_method.choose_segment(f"usage.{part}", word)
        walk.user.wait_until(lambda: _taken(walk, f"usage.{part}.{word}"), f"{part} {word}")  # noqa: B023 - called at once
    walk.user.wait_for("usage.table")


def _taken(walk: MonkeyRun, name: str) -> bool:
    return any(one.has(CHECKED) for one in walk.user.find(name))


def file_away(walk: MonkeyRun) -> None:
    """Archive or trash a session; undo it while there are fewer than 12 sessions."""
    row = walk.rng.choice(walk.rows("done", "stopped", "failed"))
    item, command, keys = walk.rng.choice(
        (
            ("Archive", "Archive or unarchive the session", "ctrl+shift+e"),
            ("Move to trash", "Move the session to the trash", ""),
        )
    )
    count = len(walk.rows())
    walk.input_method.act_on_session(row.title, item, command, keys)
    walk.user.wait_until(lambda: len(walk.rows()) < count, "the session leaves the list")
    if len(walk.rows()) < 12:
        walk.input_method.press("toast.undo", keys="ctrl+alt+z")
        walk.user.wait_until(lambda: len(walk.rows()) == count, "the session returns")


def uniquely_titled(walk: MonkeyRun) -> list[SessionRow]:
    """Return one session per title: a fork has the title of its origin."""
    return list({row.title: row for row in walk.rows()}.values())


def split_view(walk: MonkeyRun) -> None:
    """Open and close the split view."""
    first, second = walk.rng.sample(uniquely_titled(walk), 2)
    walk.input_method.show_session(first.title)
    walk.input_method.run_command("Open or close the split view", "ctrl+shift+s")
    walk.user.wait_for_focus("palette.field")
    walk.user.type_text(second.title)
    walk.user.wait_for("palette.list", second.title, "list item")
    walk.display.keys("Return")
    walk.user.wait_until_gone("palette.field")
    walk.user.wait_for("beside")
    walk.input_method.run_command("Open or close the split view", "ctrl+shift+s")
    walk.user.wait_until_gone("beside")


def tabs(walk: MonkeyRun) -> None:
    """Open two sessions in tabs, switch between them, then close each tab."""
    for row in walk.rng.sample(uniquely_titled(walk), 2):
        walk.input_method.show_session(row.title)
        walk.input_method.run_command("Open or close a tab for the session", "ctrl+t")
    walk.user.wait_for("side.tabs", role="page tab")
    walk.input_method.run_command("Previous tab", "ctrl+Prior")
    while left := len(walk.user.find("side.tabs", role="page tab")):
        walk.input_method.run_command("Next tab", "ctrl+Next")
        walk.input_method.run_command("Open or close a tab for the session", "ctrl+t")
        walk.user.wait_until(lambda: len(walk.user.find("side.tabs", role="page tab")) < left, "a tab less")


def commands(walk: MonkeyRun) -> None:
    """Run some harmless commands; toggles are run twice, so that they end as they were."""
    for words in walk.rng.sample(HARMLESS, 3):
        walk.input_method.run_command(words)
        if words == "Switch between light and dark theme" or words.startswith("Show"):
            walk.input_method.run_command(words)
    walk.input_method.run_command("Reset text size", "ctrl+0")


def menus(walk: MonkeyRun) -> None:
    """Open each menu, check that every item has a name, and close it with Escape."""
    walk.input_method.show_session(walk.rng.choice(walk.rows()).title)
    for button in MENUS:
        if not any(one.is_usable() for one in walk.user.find(button)):
            continue
        walk.input_method.press(button)
        lines = walk.user.wait_for_any(role="menu item")
        assert all(one.name.strip() for one in lines), [str(one) for one in lines]
        walk.display.keys("Escape")
        walk.user.wait_until_gone(role="menu item")


def help_pages(walk: MonkeyRun) -> None:
    """Open the help and the list of keyboard shortcuts."""
    walk.input_method.run_command("Open help", "F1")
    walk.user.wait_for("help.text")
    walk.input_method.press("help.close", keys="Escape")
    walk.user.wait_until_gone("help.text")
    walk.input_method.run_command("Keyboard shortcuts", "ctrl+slash")
    walk.user.wait_for("keys.close")
    walk.display.keys("Escape")
    walk.user.wait_until_gone("keys.close")


def sizes(walk: MonkeyRun) -> None:
    """Resize the window, enter full screen, and restore it."""
    window = walk.display.xdotool("search", "--onlyvisible", "--name", "Journeyman").split()[0]
    for width, height in (*walk.rng.sample(SIZES, 2), SIZES[-1]):
        walk.display.xdotool("windowsize", "--sync", window, width, height)
        walk.user.wait_for("status.commands")
    walk.input_method.run_command("Enter or leave full screen", "F11")
    walk.user.wait_for("status.commands")
    walk.input_method.run_command("Enter or leave full screen", "F11")
    walk.display.xdotool("windowsize", "--sync", window, *SIZES[-1])
    walk.user.wait_for("status.commands")


def step(walk: MonkeyRun) -> None:
    """Select steps and open every tab of their details."""
    walk.input_method.show_session(walk.rng.choice(walk.rows()).title)
    walk.input_method.switch_tab("run.tabs", "Steps")
    rows = walk.user.wait_for_any("timeline.steps", role="cell")
    if walk.input_name == "mouse":
        for one in walk.rng.sample(rows, min(4, len(rows))):
            walk.display.click(one.area.left + 60, one.area.top + 8)
    else:
        walk.user.tab_to("timeline.steps")
        walk.display.keys("Home", "Down", "Down", "Return", "Return", "bracketright", "bracketleft", "End")
    for tab in [one.name for one in walk.user.find("step.tabs", role="page tab") if one.is_usable()]:
        walk.input_method.switch_tab("step.tabs", tab)


def sections(walk: MonkeyRun) -> None:
    """Switch between pages, then back to a session."""
    for name in walk.rng.sample(SECTIONS, 3):
        walk.input_method.open_page(name)
    walk.input_method.show_session(walk.rows()[0].title)
