"""The standard of the house: each rule holds everywhere, and each rule is shown to be able to fail."""

import ctypes
import gc
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.house import DOORS, RULES, Source, broad_handlers, called, walked

ROOT = Path(__file__).resolve().parent.parent
TOP = {"pyproject.toml", "app", "ui", "core", "resources", "tests", "packaging", "README.md", "LICENSE", "CHANGELOG.md"}
CODE = ("app/", "ui/", "core/", "resources/", "tests/", "packaging/")
WINDOWS = {"PySide6", "shiboken6", "qasync", "markdown_it"}
NETWORK_PLACES = re.compile(
    r"py(pi)\.(org|python)|python(hosted)\.org|artifact(registry)|pkg\.(dev)/|registry\.(npmjs)"
)
MACHINE_PLACES = re.compile(r"(?<![\w.])/(work|root)/\w")
REQUIREMENT = re.compile(r"#.*|[a-z0-9._-]+==[\w.]+( ; .*)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?")
CONTRACTS = {  # what is added to a copy of the house, and the contract that it breaks
    "The house: app above ui above core": ("core/domain/bad.py", "import ui.start"),
    "The floors of core": ("core/store/bad.py", "import core.engine"),
    "Nothing goes round in circles": ("ui/widgets/bad.py", "import ui.ask.bad"),
    "Core knows no windows": ("core/engine/bad.py", "def late():\n    import PySide6.QtCore"),
    "Panels do not know each other": ("ui/ask/bad.py", "import ui.widgets.bad, ui.composer.bad"),
}


def tracked() -> list[str]:
    """The files of the project: what git knows or would add; without git, what a delivery holds."""
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "--cached", "--others", "--exclude-standard"]
    if (ROOT / ".git").exists() and shutil.which("git"):
        answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return [name for name in dict.fromkeys(answer.stdout.splitlines()) if (ROOT / name).is_file()]
    files = (path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file())
    return [name for name in files if "__pycache__" not in name and not name.startswith(".")]


@pytest.fixture(scope="module", autouse=True)
def no_sweeps() -> Iterator[None]:
    """Millions of nodes stay alive while the rules look at them: each sweep would look at all and find none."""
    gc.disable()
    yield
    walked.cache_clear()
    called.cache_clear()
    gc.enable()


@pytest.fixture(scope="module")
def files() -> list[str]:
    """Every file of the project."""
    return tracked()


@pytest.fixture(scope="module")
def sources(files: list[str]) -> list[Source]:
    """Every Python file of the project, but for the samples of others."""
    ours = [name for name in files if name.endswith(".py") and name.startswith(CODE) and "/golden/" not in name]
    return [Source(name, (ROOT / name).read_text(encoding="utf-8")) for name in ours]


@pytest.mark.parametrize("name", RULES)
def test_the_house_keeps_a_rule(name: str, sources: list[Source]) -> None:
    """No file breaks it."""
    assert [f"{source.path}:{words}" for source in sources for words in RULES[name].find(source)] == []


@pytest.mark.parametrize("name", RULES)
def test_a_rule_can_fail(name: str) -> None:
    """Each of its samples breaks it."""
    assert RULES[name].samples
    assert [sample for sample in RULES[name].samples if not list(RULES[name].find(sample))] == []


def test_every_door_is_in_use(sources: list[Source]) -> None:
    """A door that catches nothing any more is walled up again."""
    doors = {path for path, _ in DOORS}
    used = {(source.path, place) for source in sources if source.path in doors for _, place in broad_handlers(source)}
    assert set(DOORS) - used == set()


def misplaced(names: list[str]) -> Iterator[str]:
    """What stands where nothing of its kind belongs."""
    for name in names:
        top = name.split("/")[0]
        if top not in TOP and not top.startswith("."):
            yield f"{name}: nothing else stands at the top"
        if re.fullmatch(r"packaging/(.*/)?__init__\.py", name):
            yield f"{name}: would hide a library of that name"


def test_everything_has_its_place(files: list[str]) -> None:
    """The top of the tree is a short list, and `packaging` is no package."""
    assert list(misplaced(files)) == []
    assert len(list(misplaced(["notes.txt", "src/a.py", "packaging/__init__.py", ".ci/run"]))) == 3


def heavy(name: str, data: bytes) -> bool:
    """Whether this is a large file that nobody can read or compare."""
    return len(data) > 1_000_000 and (b"\0" in data[:8192] or not name.endswith((".json", ".txt", ".md")))


def test_no_large_binaries(files: list[str]) -> None:
    """History stays small."""
    assert [name for name in files if heavy(name, (ROOT / name).read_bytes())] == []
    assert heavy("a.png", b"\0" * 1_000_001) and heavy("a.json", b"\0" * 1_000_001) and not heavy("a.png", b"\0")


def strangers(name: str, text: str) -> Iterator[str]:
    """Lines that only hold on one machine or in one network."""
    for number, line in enumerate(text.splitlines(), 1):
        if NETWORK_PLACES.search(line) or MACHINE_PLACES.search(line):
            yield f"{name}:{number}: {line.strip()[:80]}"
        if re.search(r"requirements.*\.txt$", name) and not REQUIREMENT.fullmatch(line):
            yield f"{name}:{number}: neither a pin nor a hash: {line.strip()[:80]}"


def test_no_places_of_one_machine(files: list[str]) -> None:
    """No registry, no mirror and no folder of a developer in any text."""
    found: list[str] = []
    for name in files:
        data = (ROOT / name).read_bytes()
        if b"\0" not in data[:8192] and "/golden/" not in name:
            found += strangers(name, data.decode("utf-8", errors="replace"))
    assert found == []
    for bad in ("https://files.python" + "hosted.org/x", "/" + "work/x", "--index" + "-url x"):
        assert list(strangers("packaging/requirements.txt", bad))


def lint_imports(folder: Path) -> str:
    """What import-linter says about the house in a folder."""
    program = "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", program, "--no-cache"]
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return f"{answer.stdout}{answer.stderr}\nexit code {answer.returncode}"


def test_imports_go_down_only() -> None:
    """The contracts of pyproject.toml hold."""
    answer = lint_imports(ROOT)
    assert "exit code 0" in answer and " 0 broken" in answer, answer


@pytest.fixture(scope="module")
def broken_house(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What import-linter says about a copy that breaks every contract."""
    copy = tmp_path_factory.mktemp("broken") / "house"
    for name in ("app", "ui", "core"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    (copy / "ui" / "composer" / "bad.py").write_text("")
    for path, text in CONTRACTS.values():
        (copy / path).write_text(f"{text}\n")
    return lint_imports(copy)


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_contract_can_break(name: str, broken_house: str) -> None:
    """Each contract notices the file that breaks it."""
    assert re.search(rf"{re.escape(name)} BROKEN", broken_house), broken_house


def test_every_contract_is_shown_to_break() -> None:
    """A new contract needs its sample here."""
    names = re.findall(r'^name = "(.*)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(names) - {"journeyman"} == set(CONTRACTS)


def windows_loaded_by(modules: list[str]) -> set[str]:
    """Import these in a new process and tell which libraries of the window came along."""
    lines = [
        *(f"import {name}" for name in modules),
        "import sys; print(*{name.split('.')[0] for name in sys.modules})",
    ]
    answer = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return WINDOWS & set(answer.stdout.split())


def test_core_runs_without_a_window(sources: list[Source]) -> None:
    """Importing all of core loads no Qt, also not by way of a library."""
    names = [source.path.removesuffix(".py").removesuffix("/__init__") for source in sources if source.under("core/")]
    assert len(names) > 5
    assert windows_loaded_by([name.replace("/", ".") for name in names]) == set()
    assert windows_loaded_by(["qasync"]) == {"PySide6", "shiboken6", "qasync"}


def lost_references(call: Callable[[], object]) -> list[int]:
    """How many references to None, True and False a hundred calls lose, or keep."""
    held = [None] * 1000 + [True] * 1000 + [False] * 1000  # so that a loss hurts nobody
    call()
    before = [sys.getrefcount(thing) for thing in (None, True, False)]
    for _ in range(300):
        call()
    after = [sys.getrefcount(thing) for thing in (None, True, False)]
    assert held
    return [now - then for now, then in zip(after, before, strict=True)]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="None cannot be lost there: it is immortal")
def test_qt_keeps_its_references() -> None:
    """PySide6 6.12.0 loses one reference to None a call here, and in the end aborts the interpreter."""
    from PySide6.QtCore import QObject

    thing = QObject()
    assert all(abs(lost) < 50 for lost in lost_references(lambda: thing.setObjectName("a")))


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="None cannot be lost there: it is immortal")
def test_a_lost_reference_is_seen() -> None:
    """The guard counts a loss that is made on purpose, and given back."""
    lose, give = ctypes.pythonapi.Py_DecRef, ctypes.pythonapi.Py_IncRef
    lose.argtypes = give.argtypes = [ctypes.py_object]
    assert lost_references(lambda: lose(None))[0] < -250
    assert [give(None) for _ in range(301)]
