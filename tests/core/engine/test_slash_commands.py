"""Custom slash commands: what is typed, and what is sent for it."""

from pathlib import Path

import pytest

from core.domain.events import RunStarted, UserMessage
from core.domain.text import Text
from core.engine.services.slash_commands import expand_command, fill_template, load_commands
from tests.core.engine.harness import open_engine, run_bounded, scripted_replies
from tests.core.engine.test_instructions import AllFiles


@pytest.mark.parametrize(
    ("template", "arguments", "sent"),
    [
        ("Review $1 for $2.", "a.py 'two words'", "Review a.py for two words."),
        ("Say $ARGUMENTS!", "$1 is 'odd", "Say $1 is 'odd!"),
        ("Costs $10, $1", "x", "Costs $10, x"),
        ("Look.", "at a.py", "Look.\n\nat a.py"),
        ("$1$2", "", ""),
    ],
)
def test_arguments_are_substituted_once(template: str, arguments: str, sent: str) -> None:
    assert fill_template(template, arguments) == sent


def test_personal_commands_precede_project_commands(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "work"
    (home / "commands").mkdir(parents=True)
    (folder / ".agents" / "commands").mkdir(parents=True)
    (home / "commands" / "review.md").write_text("---\ndescription: Mine\n---\nReview $1.")
    (folder / ".agents" / "commands" / "review.md").write_text("Send $1 away.")
    (folder / ".agents" / "commands" / "plan.md").write_text("# Plan it\n\nWrite a plan.")
    (folder / ".agents" / "commands" / "Odd Name.md").write_text("no")
    (folder / ".agents" / "commands" / "bytes.md").write_bytes(b"\xff\xfe")
    (tmp_path / "secret.md").write_text("secret")
    (folder / ".agents" / "commands" / "leak.md").symlink_to(tmp_path / "secret.md")
    everything = AllFiles()
    assert list(load_commands(home, folder)) == ["review"], "a command of an untrusted folder was offered"
    found = load_commands(home, folder, everything)
    assert [(each.name, each.description, each.origin) for each in found.values()] == [
        ("plan", "Plan it", "folder"),
        ("review", "Mine", "own"),
    ]
    assert expand_command("/review a.py", home, folder, everything) == "Review a.py."
    for words in ("/etc/hosts is odd", "/unknown a", "a /review b", "/leak"):
        assert expand_command(words, home, folder, everything) == words


def test_a_session_is_started_by_a_command(tmp_path: Path) -> None:
    async def test() -> None:
        (tmp_path / "commands").mkdir()
        (tmp_path / "commands" / "tidy.md").write_text("Tidy the folder, most of all $1.")
        async with open_engine(tmp_path) as scene:
            assert list(scene.engine.slash_commands(scene.folder)) == ["tidy"]
            began = RunStarted("scripted", script=Text(scripted_replies({"text": "Done."}, {"text": "Done."})))
            session = await scene.engine.start("/tidy notes", scene.folder, began)
            await scene.engine.wait_idle(session)
            await scene.engine.send_message(session, "/tidy drafts")
            await scene.engine.wait_idle(session)
            said = [event.text.head for event in await scene.events(session) if isinstance(event, UserMessage)]
            assert said == ["Tidy the folder, most of all notes.", "Tidy the folder, most of all drafts."]
            assert scene.engine.session(session).title == "/tidy notes"

    run_bounded(test())
