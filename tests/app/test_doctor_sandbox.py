"""What `doctor` reports about the sandbox."""

import contextlib
import subprocess
import sys
from tempfile import gettempdir

import pytest

from app.commands.doctor import check_notifications, check_sandbox
from core.engine.services.sandbox_status import sandbox_status
from core.workspace.bubblewrap import Bubblewrap
from core.workspace.landlock import Landlock
from core.workspace.sandbox import choose_sandbox
from tests.core.workspace.commands import open_sandbox


def test_working_sandbox_is_reported() -> None:
    with open_sandbox("bubblewrap"), contextlib.closing(choose_sandbox(launchers=[Bubblewrap])) as made:
        assert (
            check_sandbox(sandbox_status(made)).ok
            and check_sandbox(sandbox_status(made)).result == "bubblewrap, verified"
        )


def test_reduced_sandbox_lists_what_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_sandbox("landlock"), contextlib.closing(choose_sandbox(launchers=[Landlock])) as made:
        found = check_sandbox(sandbox_status(made))
        monkeypatch.setenv("PATH", "/nowhere")
        without = check_sandbox(sandbox_status(made))
    assert found.ok and found.result == (
        "landlock, reduced; a command can still see whether a file outside the folder exists, its size and its times; "
        "change a protected file; read a file with secrets in the folder"
    )
    assert without.suggestion == "Install bubblewrap, so that the sandbox prevents this too."


def test_failing_or_missing_sandbox_is_reported() -> None:
    with contextlib.closing(choose_sandbox(launchers=[])) as none:
        found = check_sandbox(sandbox_status(none))
        assert not found.ok and "no sandbox" in found.result and "bubblewrap" in found.fix
    weak = Bubblewrap(weaken=lambda words: [*words, "--bind", gettempdir(), gettempdir()])
    with open_sandbox("bubblewrap"), contextlib.closing(choose_sandbox(launchers=[lambda: weak])) as made:
        found = check_sandbox(sandbox_status(made))
        assert not found.ok and "write outside the folder" in found.result


NO_DESCRIPTORS = """
import resource
from app.commands.doctor import check_notifications
resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
found = check_notifications()
print(found.ok, found.result, found.fix)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="inotify")
def test_missing_change_notifications_are_reported() -> None:
    assert check_notifications().ok
    done = subprocess.run([sys.executable, "-c", NO_DESCRIPTORS], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False none (Too many open files): ") and "max_user_instances" in done.stdout
