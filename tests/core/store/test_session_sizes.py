"""The sizes of sessions, and what takes up the space."""

from pathlib import Path

from core.domain.events import UserMessage
from core.domain.text import Text
from core.store.journal import Journal
from core.store.session_sizes import session_sizes
from tests.core.store.made import fill, write


def test_the_largest_sessions_come_first_with_their_contents(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    first, second = fill(path, sessions=2)

    async def grow(journal: Journal) -> None:
        await journal.append(second, *(UserMessage(Text(f"{n} " + str(hash(str(n))) * 900)) for n in range(20)))

    write(path, grow)
    found = session_sizes(path)
    assert [weight.session for weight in found] == [second, first]
    assert found[0].kinds[0][0] == "user_message" and found[0].events > found[1].events
    assert found[0].size >= sum(size for _, size in found[0].kinds) > found[1].size
    assert len(session_sizes(path, limit=1)) == 1
