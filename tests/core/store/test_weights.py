"""Which sessions are large, and why."""

from pathlib import Path

from core.domain.events import PersonSpoke
from core.domain.text import Text
from core.store.journal import Journal
from core.store.weights import weights
from tests.core.store.made import fill, write


def test_the_heaviest_come_first_with_what_makes_them_heavy(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    first, second = fill(path, sessions=2)

    async def grow(journal: Journal) -> None:
        await journal.append(second, *(PersonSpoke(Text(f"{n} " + str(hash(str(n))) * 900)) for n in range(20)))

    write(path, grow)
    found = weights(path)
    assert [weight.session for weight in found] == [second, first]
    assert found[0].kinds[0][0] == "person_spoke" and found[0].facts > found[1].facts
    assert found[0].size >= sum(size for _, size in found[0].kinds) > found[1].size
    assert len(weights(path, limit=1)) == 1
