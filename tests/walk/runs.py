"""Acts with runs: begun, asked, answered, queued, steered, paused, stopped, broken off, looked at from all sides."""

from pathlib import Path

from core.domain.sessions import SessionRow
from tests.e2e.tree import ENABLED
from tests.walk.walk import Walk

OPEN = ("waiting", "running", "paused", "interrupted")
VIEWS = ("Timeline", "Changes", "Context", "Decisions", "Steps")


def begun(walk: Walk, task: str) -> SessionRow:
    """A run of the model server, from the first screen."""
    walk.hands.command("New run", "ctrl+n")
    walk.walker.thing("start.task")
    if walk.walker.seen("start.folder", "Choose a folder…"):
        _choose_folder(walk)
    walk.hands.write_into("start.task", task)
    walk.hands.press("start.go", keys="Return")
    walk.walker.until(lambda: walk.rows(title=task) or _trusts(walk), f"the run {task}")
    return walk.rows(title=task)[0]


def _choose_folder(walk: Walk) -> None:
    walk.hands.press("start.folder")
    walk.walker.has_focus("fileNameEdit")
    walk.walker.write(f"{walk.work}")
    walk.display.keys("Return")
    walk.walker.gone("fileNameEdit")
    walk.walker.thing("start.folder", "Folder")


def _trusts(walk: Walk) -> bool:
    """Asked once there is something in the folder; what it is asked for is then still to come."""
    if walk.walker.seen("trust.yes"):
        walk.hands.press("trust.yes")
    return False


def demo(walk: Walk) -> None:
    before = {row.id for row in walk.rows()}
    walk.hands.command("New run", "ctrl+n")
    walk.hands.press("start.demo")
    walk.walker.until(lambda: {row.id for row in walk.rows("waiting")} - before, "the demo asks")
    [made] = {row.id for row in walk.rows("waiting")} - before
    walk.walker.thing("question.option.3")
    walk.hands.file(walk.row(made).title, "Rename", "Rename the session", "F2")
    _rename(walk, made, walk.name("Letter"))


def _rename(walk: Walk, session: str, name: str) -> None:
    """In the field over its line, which is in no tree."""
    walk.display.keys("ctrl+a")
    walk.walker.write(name)
    walk.display.keys("Return")
    walk.walker.until(lambda: walk.row(session).title == name, "its new name")


def ask(walk: Walk) -> None:
    walk.comes_to(begun(walk, walk.name("Ask")).id, "waiting")


def answer(walk: Walk) -> None:
    """A question of any session, by its options."""
    row = walk.chance.choice(asking(walk))
    number = str(walk.chance.randint(1, 3))
    walk.hands.session(row.title)
    walk.walker.thing("question.option.3")
    walk.hands.press(f"question.option.{number}", keys="ctrl+l" if walk.by == "keys" else "")
    if walk.by == "keys":
        walk.walker.tab_to(f"question.option.{number}")
        walk.display.keys(number)
    walk.hands.press("question.answer", keys="Return")
    walk.walker.until(lambda: "question_answered" in walk.kinds(row.id), "the answer is kept")
    walk.comes_to(row.id, "running", "done", "waiting")


def asking(walk: Walk) -> list[SessionRow]:
    """That wait for an answer, not for consent."""
    rows = [*walk.rows("waiting", title="Letter"), *walk.rows("waiting", title="Ask")]
    kinds = {row.id: walk.kinds(row.id) for row in rows}
    return [row for row in rows if kinds[row.id].count("question_asked") > kinds[row.id].count("question_answered")]


def consent(walk: Walk) -> None:
    """A file is written: allowed, or denied with a reason."""
    row = begun(walk, walk.name(walk.chance.choice(("Write", "Run"))))
    walk.comes_to(row.id, "waiting", "done")
    if walk.status(row.id) == "done":  # commands within walls need no word
        return
    walk.walker.thing("consent.deny")
    if walk.chance.random() < 0.6:
        _read_to_the_end(walk)
        walk.hands.press("consent.allow")
    else:
        walk.hands.press("consent.deny")
        walk.hands.write_into("consent.reason", "not now")
        walk.display.keys("Return")
    walk.comes_to(row.id, "running", "done", "stopped", "failed")


def _read_to_the_end(walk: Walk) -> None:
    """What is longer than its place cannot be allowed before."""

    def allowed() -> bool:
        button = walk.walker.thing("consent.deny")
        if walk.by == "mouse":
            x, y = button.area.middle
            walk.display.hand("mousemove", x, y - 100, "click", "--repeat", 20, 5)
        else:
            walk.walker.tab_to("consent.deny")
            walk.display.keys("End")
        return any(one.has(ENABLED) for one in walk.walker.seen("consent.allow"))

    walk.walker.until(allowed, "it can be allowed")


def steer(walk: Walk) -> None:
    """Words that cut a long reply, because they are sent at once."""
    row, _ = _talked_to(walk)
    walk.hands.press(name="Send message 1 now")
    walk.walker.until(lambda: walk.kinds(row.id).count("request_sent") > 1, "the model is told at once")
    walk.comes_to(row.id, "done")


def stop(walk: Walk) -> None:
    """A long reply is stopped; what was queued is said all the same."""
    row, words = _talked_to(walk)
    walk.hands.turn("run.tabs", walk.chance.choice(VIEWS))
    walk.hands.turn("run.tabs", "Steps")
    walk.hands.press("run.stop", keys="ctrl+period")
    walk.comes_to(row.id, "stopped")
    walk.walker.thing(name=f"Queued message 1: {words}")


def _talked_to(walk: Walk) -> tuple[SessionRow, str]:
    """A run that talks for a minute, and words that wait for the end of the round."""
    row = begun(walk, walk.name("Talk"))
    walk.comes_to(row.id, "running")
    words = walk.name("Note")
    walk.hands.write_into("composer.input", words, "ctrl+l")
    walk.hands.press("composer.send", keys="Return")
    walk.walker.thing(name=f"Queued message 1: {words}")
    return row, words


def say(walk: Walk) -> None:
    """Another run of a session that has ended."""
    row = walk.chance.choice(ended(walk))
    walk.hands.session(row.title)
    walk.hands.write_into("composer.input", walk.name("Word"), "ctrl+l")
    walk.hands.press("composer.send", keys="Return")
    walk.walker.until(lambda: walk.row(row.id).runs > row.runs or _trusts(walk), "another run")
    walk.comes_to(row.id, "done")


def ended(walk: Walk) -> list[SessionRow]:
    return [row for row in walk.rows("done", "stopped") if not row.source and row.model.startswith("box/")]


def letters(walk: Walk) -> list[SessionRow]:
    """Demos that are over, and wrote a file that is still as they left it."""
    return [row for row in walk.rows("done", title="Letter") if "files_rewound" not in walk.kinds(row.id)]


def put_back(walk: Walk) -> None:
    """A file as it was before, and back again."""
    row = walk.chance.choice(letters(walk))
    letter = Path(row.folder) / "complaint.md"
    walk.hands.session(row.title)
    walk.hands.turn("run.tabs", "Changes")
    for button, there in (("changes.undo", False), ("changes.again", True)):
        walk.hands.press(button)
        walk.hands.press("putback.yes")
        walk.walker.gone("putback")
        walk.walker.until(lambda: letter.exists() == there, f"{letter} there: {there}")  # noqa: B023 - now
    walk.hands.turn("run.tabs", "Steps")


def unforked(walk: Walk) -> list[SessionRow]:
    return [row for row in walk.rows("done") if not row.origin]


def fork(walk: Walk) -> None:
    row = walk.chance.choice(unforked(walk))
    before = {row.id for row in walk.rows()}
    walk.hands.file(row.title, "Fork", "Fork the session")
    walk.walker.until(lambda: {row.id for row in walk.rows()} - before, "the fork")
    [made] = {row.id for row in walk.rows()} - before
    walk.walker.thing("timeline.steps", f"Forked from {row.title}", "cell")
    walk.hands.command("Rename the session", "F2")
    _rename(walk, made, walk.name("Fork"))


def compare(walk: Walk) -> None:
    """With itself forked, or with any other."""
    row = walk.chance.choice(walk.rows("done"))
    walk.hands.session(row.title)
    walk.hands.press("run.compare")
    walk.walker.thing("compare.said")
    if not walk.walker.seen("compare.right.open"):  # nothing is near: which one, is asked
        walk.hands.press("compare.right.choose")
        walk.walker.has_focus("palette.field")
        walk.display.keys("Return")
    walk.hands.press("compare.swap")
    walk.walker.thing("compare.steps")
    walk.hands.press(name="Open", role="push button")
    walk.walker.thing("run.title")


def views(walk: Walk) -> None:
    """All views of a session, with the keys or the wheel that move in them."""
    row = walk.chance.choice(walk.rows())
    walk.hands.session(row.title)
    for name in walk.chance.sample(VIEWS, len(VIEWS) if walk.by == "mouse" else 2):  # the way by keys is long
        walk.hands.turn("run.tabs", name)
        shown = walk.walker.thing("run.title")
        if walk.by == "mouse":
            walk.display.hand(
                "mousemove", shown.area.left + 200, 500, "click", "--repeat", 5, 5, "click", "--repeat", 5, 4
            )
        else:
            walk.display.keys("Tab", "Down", "Down", "Up", "End", "Home", "j", "k")
    walk.hands.turn("run.tabs", "Steps")


def find(walk: Walk) -> None:
    """Words in a run."""
    walk.hands.session(walk.chance.choice(walk.rows()).title)
    walk.hands.turn("run.tabs", "Steps")
    walk.hands.press("run.find.open", keys="ctrl+f")
    walk.walker.has_focus("run.find.words")
    walk.walker.write("the")
    walk.walker.thing("run.find.count")
    walk.display.keys("Return", "Return", "shift+Return", "Escape")
    walk.walker.gone("run.find.words")


def export(walk: Walk) -> None:
    """As a file, in one of the formats."""
    row = walk.chance.choice(walk.rows())
    walk.hands.session(row.title)
    walk.hands.press("run.export")
    walk.walker.thing("export.go")
    formats = [one for one in walk.walker.seen(role="radio button") if "export.format" in one.id]
    place = walk.chance.randrange(len(formats))
    if walk.by == "mouse":
        walk.display.click(*formats[place].area.middle)
    else:
        walk.display.keys(*["Down"] * place)
    file = walk.work.parent / walk.name("export")
    walk.hands.write_into("export.place", str(file))
    walk.hands.press("export.go")
    walk.walker.thing("export.said", "Written")
    assert file.stat().st_size > 0
    walk.hands.press("export.cancel")
    walk.walker.gone("export.go")


def bring(walk: Walk) -> None:
    """A run of another agent is opened; it can only be read."""
    walk.hands.command("Open runs of other agents", "ctrl+o")
    count = len(walk.rows())
    line = walk.walker.thing("import.list", role="list item")
    if walk.by == "mouse":
        walk.display.click(*line.area.middle)
    else:
        walk.walker.tab_to("import.list")
        walk.display.keys("Down", "Up", "space")
    walk.walker.until(lambda: walk.walker.seen("import.go")[0].can_be_used(), "it can be opened")
    walk.hands.press("import.go")
    walk.walker.gone("import.go")
    assert len(walk.rows()) >= count


def restart(walk: Walk) -> None:
    """Closed while questions wait; they wait still."""
    waiting = {row.id for row in walk.rows("waiting")}
    walk.end()
    assert {row.id for row in walk.rows("waiting")} == waiting
    walk.open()
    titles = f"({len(waiting)}) Journeyman" if waiting else "Journeyman"
    walk.walker.until(lambda: walk.display.titles() == [titles], f"{titles} over the window")


def kill(walk: Walk) -> None:
    """In the middle of a reply; nothing runs by itself afterwards, and a person's word lets it go on or end."""
    row = begun(walk, walk.name("Talk"))
    walk.comes_to(row.id, "running")
    known = {one.id for one in walk.rows()}
    walk.kill()
    walk.open()
    walk.walker.thing("sessions.list", role="cell")  # the data is open: who reads before that takes the log away
    walk.until(lambda: not walk.rows("running"), "what was going is known to be interrupted")
    assert {one.id for one in walk.rows()} == known, "nothing is lost"
    walk.hands.session(row.title)
    walk.walker.thing("run.title", row.title)
    going_on = walk.chance.random() < 0.5
    walk.walker.until(lambda: walk.walker.seen("interrupted.again") or walk.walker.seen("run.resume"), "how to go on")
    if walk.walker.seen("interrupted.again"):
        walk.hands.press("interrupted.again" if going_on else "interrupted.end")
    else:
        walk.hands.press("run.resume")
    walk.comes_to(row.id, "running", "done", "stopped", "failed")
    if walk.status(row.id) == "running":
        walk.hands.press("run.stop", keys="ctrl+period")
        walk.comes_to(row.id, "stopped", "done")
