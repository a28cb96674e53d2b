"""Actions on runs: start, answer, approve, steer, stop, kill, revert, fork, compare, export and import."""

from pathlib import Path

from core.domain.sessions import SessionRow
from tests.e2e.accessibility import ENABLED
from tests.monkey.monkey_run import MonkeyRun

OPEN = ("waiting", "running", "paused", "interrupted")
VIEWS = ("Timeline", "Changes", "Context", "Decisions", "Steps")


def start_run(walk: MonkeyRun, task: str) -> SessionRow:
    """Start a run with the local provider from the start page."""
    walk.input_method.run_command("New session", "ctrl+n")
    walk.user.wait_for("start.task")
    if walk.user.find("start.folder", "Choose a folder…"):
        _choose_folder(walk)
    walk.input_method.replace_text("start.task", task)
    walk.input_method.press("start.go", keys="Return")
    walk.user.wait_until(lambda: walk.rows(title=task) or _trusts(walk), f"the run {task}")
    return walk.rows(title=task)[0]


def _choose_folder(walk: MonkeyRun) -> None:
    walk.input_method.press("start.folder")
    walk.user.wait_for_focus("fileNameEdit")
    walk.user.type_text(f"{walk.work}")
    walk.display.keys("Return")
    walk.user.wait_until_gone("fileNameEdit")
    walk.user.wait_for("start.folder", "Folder")


def _trusts(walk: MonkeyRun) -> bool:
    """Confirm the trust prompt if it is shown. Always return False: the run itself is still to come."""
    if walk.user.find("trust.yes"):
        walk.input_method.press("trust.yes")
    return False


def demo(walk: MonkeyRun) -> None:
    before = {row.id for row in walk.rows()}
    walk.input_method.run_command("New session", "ctrl+n")
    walk.input_method.press("start.demo")
    walk.user.wait_until(lambda: {row.id for row in walk.rows("waiting")} - before, "the demo asks")
    [made] = {row.id for row in walk.rows("waiting")} - before
    walk.user.wait_for("question.option.3")
    walk.input_method.act_on_session(walk.row(made).title, "Rename", "Rename the session", "F2")
    _rename(walk, made, walk.unique_name("Letter"))


def _rename(walk: MonkeyRun, session: str, name: str) -> None:
    """Type a name into the inline editor, which is not in the accessibility tree."""
    walk.display.keys("ctrl+a")
    walk.user.type_text(name)
    walk.display.keys("Return")
    walk.user.wait_until(lambda: walk.row(session).title == name, "its new name")


def ask(walk: MonkeyRun) -> None:
    walk.wait_for_status(start_run(walk, walk.unique_name("Ask")).id, "waiting")


def answer(walk: MonkeyRun) -> None:
    """Answer a pending question with one of its options."""
    row = walk.rng.choice(asking_sessions(walk))
    number = str(walk.rng.randint(1, 3))
    walk.input_method.show_session(row.title)
    walk.user.wait_for("question.option.3")
    walk.input_method.press(f"question.option.{number}", keys="ctrl+l" if walk.input_name == "keys" else "")
    if walk.input_name == "keys":
        walk.user.tab_to("question.option.1")  # the arrow keys and digits lead to the others
        walk.display.keys(number)
    walk.input_method.press("question.answer", keys="Return")
    walk.user.wait_until(lambda: "question_answered" in walk.kinds(row.id), "the answer is saved")
    walk.wait_for_status(row.id, "running", "done", "waiting")


def asking_sessions(walk: MonkeyRun) -> list[SessionRow]:
    """Return the sessions that wait for an answer, not for an approval."""
    rows = [*walk.rows("waiting", title="Letter"), *walk.rows("waiting", title="Ask")]
    kinds = {row.id: walk.kinds(row.id) for row in rows}
    return [row for row in rows if kinds[row.id].count("question_asked") > kinds[row.id].count("question_answered")]


def approve(walk: MonkeyRun) -> None:
    """Start a run that asks for permission; allow it, or deny it with a reason."""
    row = start_run(walk, walk.unique_name(walk.rng.choice(("Write", "Run"))))
    walk.wait_for_status(row.id, "waiting", "done")
    if walk.status(row.id) == "done":  # sandboxed commands need no approval
        return
    walk.user.wait_for("consent.deny")
    if walk.rng.random() < 0.6:
        _read_to_the_end(walk)
        walk.input_method.press("consent.allow")
    else:
        walk.input_method.press("consent.deny")
        walk.input_method.replace_text("consent.reason", "not now")
        walk.display.keys("Return")
    walk.wait_for_status(row.id, "running", "done", "stopped", "failed")


def _read_to_the_end(walk: MonkeyRun) -> None:
    """Scroll to the end: a long request cannot be allowed before it was read."""

    def allowed() -> bool:
        button = walk.user.wait_for("consent.deny")
        if walk.input_name == "mouse":
            x, y = button.area.middle
            walk.display.xdotool("mousemove", x, y - 100, "click", "--repeat", 20, 5)
        else:
            walk.user.tab_to("consent.deny")
            walk.display.keys("End")
        return any(one.has(ENABLED) for one in walk.user.find("consent.allow"))

    walk.user.wait_until(allowed, "it can be allowed")


def steer(walk: MonkeyRun) -> None:
    """Interrupt a long reply with a message that is sent at once."""
    row, _ = _talked_to(walk)
    walk.input_method.press(name="Send message 1 now")
    walk.user.wait_until(lambda: walk.kinds(row.id).count("request_sent") > 1, "the message is sent at once")
    walk.wait_for_status(row.id, "done")


def stop(walk: MonkeyRun) -> None:
    """Stop a long reply; the queued message stays queued."""
    row, words = _talked_to(walk)
    walk.input_method.switch_tab("run.tabs", walk.rng.choice(VIEWS))
    walk.input_method.switch_tab("run.tabs", "Steps")
    walk.input_method.press("run.stop", keys="ctrl+period")
    walk.wait_for_status(row.id, "stopped")
    walk.user.wait_for(name=f"Queued message 1: {words}")


def _talked_to(walk: MonkeyRun) -> tuple[SessionRow, str]:
    """Start a run with a long reply and queue a message for the end of the turn."""
    row = start_run(walk, walk.unique_name("Talk"))
    walk.wait_for_status(row.id, "running")
    words = walk.unique_name("Note")
    walk.input_method.replace_text("composer.input", words, "ctrl+l")
    walk.input_method.press("composer.send", keys="Return")
    walk.user.wait_for(name=f"Queued message 1: {words}")
    return row, words


def send_message(walk: MonkeyRun) -> None:
    """Start another run in a session that has ended."""
    row = walk.rng.choice(ended_sessions(walk))
    walk.input_method.show_session(row.title)
    walk.input_method.replace_text("composer.input", walk.unique_name("Word"), "ctrl+l")
    walk.input_method.press("composer.send", keys="Return")
    walk.user.wait_until(lambda: walk.row(row.id).runs > row.runs or _trusts(walk), "another run")
    walk.wait_for_status(row.id, "done")


def ended_sessions(walk: MonkeyRun) -> list[SessionRow]:
    return [row for row in walk.rows("done", "stopped") if not row.imported_from and row.model.startswith("box/")]


def revertible_demos(walk: MonkeyRun) -> list[SessionRow]:
    """Return finished demos whose files have not been reverted."""
    return [row for row in walk.rows("done", title="Letter") if "files_rewound" not in walk.kinds(row.id)]


def revert(walk: MonkeyRun) -> None:
    """Revert a file, then restore it."""
    row = walk.rng.choice(revertible_demos(walk))
    letter = Path(row.folder) / "complaint.md"
    walk.input_method.show_session(row.title)
    walk.input_method.switch_tab("run.tabs", "Changes")
    for button, there in (("changes.undo", False), ("changes.again", True)):
        walk.input_method.press(button)
        walk.input_method.press("putback.yes")
        walk.user.wait_until_gone("putback")
        walk.user.wait_until(lambda: letter.exists() == there, f"{letter} there: {there}")  # noqa: B023 - called at once
    walk.input_method.switch_tab("run.tabs", "Steps")


def unforked_sessions(walk: MonkeyRun) -> list[SessionRow]:
    return [row for row in walk.rows("done") if not row.forked_from]


def fork(walk: MonkeyRun) -> None:
    row = walk.rng.choice(unforked_sessions(walk))
    before = {row.id for row in walk.rows()}
    walk.input_method.act_on_session(row.title, "Fork", "Fork the session")
    walk.user.wait_until(lambda: {row.id for row in walk.rows()} - before, "the fork")
    [made] = {row.id for row in walk.rows()} - before
    walk.user.wait_for("timeline.steps", f"Forked from {row.title}", "cell")
    walk.input_method.run_command("Rename the session", "F2")
    _rename(walk, made, walk.unique_name("Fork"))


def compare(walk: MonkeyRun) -> None:
    """Compare a session with its fork or any other session."""
    row = walk.rng.choice(walk.rows("done"))
    walk.input_method.show_session(row.title)
    walk.input_method.press("run.compare")
    walk.user.wait_for("compare.said")
    if not walk.user.find("compare.right.open"):  # no related session: choose one
        walk.input_method.press("compare.right.choose")
        walk.user.wait_for_focus("palette.field")
        walk.display.keys("Return")
    walk.input_method.press("compare.swap")
    walk.user.wait_for("compare.steps")
    walk.input_method.press(name="Open", role="push button")
    walk.user.wait_for("run.title")


def views(walk: MonkeyRun) -> None:
    """Open the views of a session and scroll in them."""
    row = walk.rng.choice(walk.rows())
    walk.input_method.show_session(row.title)
    for name in walk.rng.sample(
        VIEWS, len(VIEWS) if walk.input_name == "mouse" else 2
    ):  # keyboard navigation takes long
        walk.input_method.switch_tab("run.tabs", name)
        shown = walk.user.wait_for("run.title")
        if walk.input_name == "mouse":
            walk.display.xdotool(
                "mousemove", shown.area.left + 200, 500, "click", "--repeat", 5, 5, "click", "--repeat", 5, 4
            )
        else:
            walk.display.keys("Tab", "Down", "Down", "Up", "End", "Home", "j", "k")
    walk.input_method.switch_tab("run.tabs", "Steps")


def find(walk: MonkeyRun) -> None:
    """Search within a run."""
    walk.input_method.show_session(walk.rng.choice(walk.rows()).title)
    walk.input_method.switch_tab("run.tabs", "Steps")
    walk.input_method.press("run.find.open", keys="ctrl+f")
    walk.user.wait_for_focus("run.find.words")
    walk.user.type_text("the")
    walk.user.wait_for("run.find.count")
    walk.display.keys("Return", "Return", "shift+Return", "Escape")
    walk.user.wait_until_gone("run.find.words")


def export(walk: MonkeyRun) -> None:
    """Export a session in a random format."""
    row = walk.rng.choice(walk.rows())
    walk.input_method.show_session(row.title)
    walk.input_method.press("run.export")
    walk.user.wait_for("export.go")
    formats = [one for one in walk.user.find(role="radio button") if "export.format" in one.id]
    place = walk.rng.randrange(len(formats))
    if walk.input_name == "mouse":
        walk.display.click(*formats[place].area.middle)
    else:
        walk.display.keys(*["Down"] * place)
    file = walk.work.parent / walk.unique_name("export")
    walk.input_method.replace_text("export.place", str(file))
    walk.input_method.press("export.go")
    walk.user.wait_for("export.said", "Exported")
    assert file.stat().st_size > 0
    walk.input_method.press("export.cancel")
    walk.user.wait_until_gone("export.go")


def import_session(walk: MonkeyRun) -> None:
    """Import a session of another agent."""
    walk.input_method.run_command("Import sessions from other agents", "ctrl+o")
    count = len(walk.rows())
    line = walk.user.wait_for("import.list", role="list item")
    if walk.input_name == "mouse":
        walk.display.click(*line.area.middle)
    else:
        walk.user.tab_to("import.list")
        walk.display.keys("Down", "Up", "space")
    walk.user.wait_until(lambda: walk.user.find("import.go")[0].is_usable(), "the import button is enabled")
    walk.input_method.press("import.go")
    walk.user.wait_until_gone("import.go")
    assert len(walk.rows()) >= count


def restart(walk: MonkeyRun) -> None:
    """Restart the program while questions are pending; they must still be pending."""
    waiting = {row.id for row in walk.rows("waiting")}
    walk.quit()
    assert {row.id for row in walk.rows("waiting")} == waiting
    walk.open()
    count = len(waiting) + len(walk.rows("interrupted"))
    walk.user.wait_until(lambda: walk.display.waiting_in_title() == count, f"{count} in the title of the window")


def kill(walk: MonkeyRun) -> None:
    """Kill the program during a reply; no run resumes by itself, and the user resumes or aborts it."""
    row = start_run(walk, walk.unique_name("Talk"))
    walk.wait_for_status(row.id, "running")
    known = {one.id for one in walk.rows()}
    walk.kill()
    walk.open()
    walk.user.wait_for(
        "sessions.list", role="cell"
    )  # wait until the program has opened the data: a reader that came first would remove the WAL
    walk.until(lambda: not walk.rows("running"), "the run is marked as interrupted")
    assert {one.id for one in walk.rows()} == known, "a session was lost"
    walk.input_method.show_session(row.title)
    walk.user.wait_for("run.title", row.title)
    going_on = walk.rng.random() < 0.5
    walk.user.wait_until(lambda: walk.user.find("interrupted.retry") or walk.user.find("run.resume"), "how to go on")
    if walk.user.find("interrupted.retry"):
        walk.input_method.press("interrupted.retry" if going_on else "interrupted.abort")
    else:
        walk.input_method.press("run.resume")
    walk.wait_for_status(row.id, "running", "done", "stopped", "failed")
    if walk.status(row.id) == "running":
        walk.input_method.press("run.stop", keys="ctrl+period")
        walk.wait_for_status(row.id, "stopped", "done")
