"""What `doctor` says of the sandbox."""

import contextlib
from tempfile import gettempdir

from app.commands.care import walls_of
from core.engine.walls import walls_found
from core.workspace.bubblewrap import Bubblewrap
from core.workspace.landlock import Landlock
from core.workspace.sandbox import choose
from tests.core.workspace.commands import walls


def test_good_walls() -> None:
    with walls("bubblewrap"), contextlib.closing(choose(ladder=[Bubblewrap])) as made:
        assert walls_of(walls_found(made)).ok and walls_of(walls_found(made)).what == "bubblewrap, verified"


def test_reduced_walls_name_what_is_open() -> None:
    with walls("landlock"), contextlib.closing(choose(ladder=[Landlock])) as made:
        assert (
            walls_of(walls_found(made)).ok
            and walls_of(walls_found(made)).what == "landlock, reduced; a command can change a protected file"
        )


def test_walls_that_fail_and_none_at_all() -> None:
    with contextlib.closing(choose(ladder=[])) as none:
        found = walls_of(walls_found(none))
        assert not found.ok and "no sandbox" in found.what and "bubblewrap" in found.do
    weak = Bubblewrap(weaken=lambda words: [*words, "--bind", gettempdir(), gettempdir()])
    with walls("bubblewrap"), contextlib.closing(choose(ladder=[lambda: weak])) as made:
        found = walls_of(walls_found(made))
        assert not found.ok and "write outside the folder" in found.what
