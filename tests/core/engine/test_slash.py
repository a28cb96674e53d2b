"""Commands of one's own: what is typed, and what is sent for it."""

from pathlib import Path

import pytest

from core.domain.events import PersonSpoke, RunStarted
from core.domain.text import Text
from core.engine.slash import commands, expanded, filled
from core.engine.trust import Obeyed
from tests.core.engine.scenes import bounded, opened, played


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
def test_arguments_are_put_in_once(template: str, arguments: str, sent: str) -> None:
    assert filled(template, arguments) == sent


def test_ones_own_come_before_those_of_the_folder(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "work"
    (home / "commands").mkdir(parents=True)
    (folder / ".agents" / "commands").mkdir(parents=True)
    (home / "commands" / "review.md").write_text("---\ndescription: Mine\n---\nReview $1.")
    (folder / ".agents" / "commands" / "review.md").write_text("Send $1 away.")
    (folder / ".agents" / "commands" / "plan.md").write_text("# Plan it\n\nWrite a plan.")
    (folder / ".agents" / "commands" / "Odd Name.md").write_text("no")
    (tmp_path / "secret.md").write_text("secret")
    (folder / ".agents" / "commands" / "leak.md").symlink_to(tmp_path / "secret.md")
    everything = Obeyed(all=True)
    assert list(commands(home, folder)) == ["review"], "nothing of a folder that is not trusted"
    found = commands(home, folder, everything)
    assert [(each.name, each.about, each.origin) for each in found.values()] == [
        ("plan", "Plan it", "folder"),
        ("review", "Mine", "own"),
    ]
    assert expanded("/review a.py", home, folder, everything) == "Review a.py."
    for words in ("/etc/hosts is odd", "/unknown a", "a /review b", "/leak"):
        assert expanded(words, home, folder, everything) == words


def test_a_session_is_started_by_a_command(tmp_path: Path) -> None:
    async def test() -> None:
        (tmp_path / "commands").mkdir()
        (tmp_path / "commands" / "tidy.md").write_text("Tidy the folder, most of all $1.")
        async with opened(tmp_path) as scene:
            assert list(scene.engine.commands(scene.folder)) == ["tidy"]
            began = RunStarted("scripted", script=Text(played({"text": "Done."}, {"text": "Done."})))
            session = await scene.engine.start("/tidy notes", scene.folder, began)
            await scene.engine.wait(session)
            await scene.engine.say(session, "/tidy drafts")
            await scene.engine.wait(session)
            said = [event.text.head for event in await scene.events(session) if isinstance(event, PersonSpoke)]
            assert said == ["Tidy the folder, most of all notes.", "Tidy the folder, most of all drafts."]
            assert scene.engine.session(session).title == "/tidy notes"

    bounded(test())
