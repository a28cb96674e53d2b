"""The house rules hold in every file, and each rule is shown to detect a violation."""

import ctypes
import gc
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.house import ALLOWED_BROAD_EXCEPTS, RULES, Source, broad_handlers, called, repeated_classes, walked

ROOT = Path(__file__).resolve().parent.parent
TOP = {"pyproject.toml", "app", "ui", "core", "resources", "tests", "packaging", "README.md", "LICENSE", "CHANGELOG.md"}
CODE = ("app/", "ui/", "core/", "resources/", "tests/", "packaging/")
GUI_LIBRARIES = {"PySide6", "shiboken6", "qasync", "markdown_it"}
NETWORK_PLACES = re.compile(
    r"py(pi)\.(org|python)|python(hosted)\.org|artifact(registry)|pkg\.(dev)/|registry\.(npmjs)"
)
MACHINE_PLACES = re.compile(r"(?<![\w.])/(work|root)/\w")
REQUIREMENT = re.compile(r"#.*|[a-z0-9._-]+==[\w.]+( ; .*)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?")
CONTRACTS = {  # each import contract, with the file and the import that break it
    "app imports ui imports core, never the reverse": ("core/domain/bad.py", "import ui.start"),
    "The layers of core": ("core/store/bad.py", "import core.engine"),
    "The layers of core.engine": ("core/engine/policy/bad.py", "import core.engine.run.loop"),
    "The layers of ui": ("ui/style/bad.py", "import ui.widgets.button"),
    "The layers of app": ("app/process/bad.py", "import app.cli.arguments"),
    "No import cycles": ("ui/widgets/bad.py", "import ui.ask.bad"),
    "core does not import GUI libraries": ("core/engine/bad.py", "def late():\n    import PySide6.QtCore"),
    "Panels do not import each other": ("ui/ask/bad.py", "import ui.widgets.bad, ui.composer.bad"),
}


def tracked() -> list[str]:
    """Return the files of the project: those that git tracks or would add; without git, all files."""
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "--cached", "--others", "--exclude-standard"]
    if (ROOT / ".git").exists() and shutil.which("git"):
        answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return [name for name in dict.fromkeys(answer.stdout.splitlines()) if (ROOT / name).is_file()]
    files = (path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file())
    return [name for name in files if "__pycache__" not in name and not name.startswith(".")]


@pytest.fixture(scope="module", autouse=True)
def no_garbage_collection() -> Iterator[None]:
    """Disable the garbage collector: it would search millions of live AST nodes and find no garbage."""
    gc.disable()
    yield
    walked.cache_clear()
    called.cache_clear()
    gc.enable()


@pytest.fixture(scope="module")
def files() -> list[str]:
    return tracked()


@pytest.fixture(scope="module")
def sources(files: list[str]) -> list[Source]:
    """Return every Python file of the project, except third-party samples."""
    ours = [name for name in files if name.endswith(".py") and name.startswith(CODE) and "/golden/" not in name]
    return [Source(name, (ROOT / name).read_text(encoding="utf-8")) for name in ours]


@pytest.mark.parametrize("name", RULES)
def test_no_file_breaks_a_rule(name: str, sources: list[Source]) -> None:
    assert [f"{source.path}:{words}" for source in sources for words in RULES[name].find(source)] == []


@pytest.mark.parametrize("name", RULES)
def test_a_rule_detects_its_samples(name: str) -> None:
    assert RULES[name].samples
    assert [sample for sample in RULES[name].samples if not list(RULES[name].find(sample))] == []


def test_a_public_class_name_is_used_once(sources: list[Source]) -> None:
    assert list(repeated_classes(sources)) == []


def test_a_repeated_class_name_is_detected() -> None:
    sample = [
        Source("core/a.py", "class Answer: ..."),
        Source("ui/b.py", "class Answer: ...\nclass _Row: ...\nclass Menu:\n    class Row: ..."),
        Source("ui/c.py", "class _Row: ..."),
        Source("tests/d.py", "class Menu: ..."),
    ]
    assert list(repeated_classes(sample)) == ["class Answer: core/a.py, ui/b.py"]


def test_every_listed_broad_except_exists(sources: list[Source]) -> None:
    doors = {path for path, _ in ALLOWED_BROAD_EXCEPTS}
    used = {(source.path, place) for source in sources if source.path in doors for _, place in broad_handlers(source)}
    assert set(ALLOWED_BROAD_EXCEPTS) - used == set()


def misplaced(names: list[str]) -> Iterator[str]:
    """Yield the files that are in the wrong place."""
    for name in names:
        top = name.split("/")[0]
        if top not in TOP and not top.startswith("."):
            yield f"{name}: not a top-level folder or file of the project"
        if re.fullmatch(r"packaging/(.*/)?__init__\.py", name):
            yield f"{name}: would hide the library `packaging`"


def test_files_are_in_known_places(files: list[str]) -> None:
    """The top-level folders are a fixed list, and `packaging` is not a Python package."""
    assert list(misplaced(files)) == []
    assert len(list(misplaced(["notes.txt", "src/a.py", "packaging/__init__.py", ".ci/run"]))) == 3


def heavy(name: str, data: bytes) -> bool:
    """Return whether this is a large binary file."""
    return len(data) > 1_000_000 and (b"\0" in data[:8192] or not name.endswith((".json", ".txt", ".md")))


def test_no_large_binaries(files: list[str]) -> None:
    assert [name for name in files if heavy(name, (ROOT / name).read_bytes())] == []
    assert heavy("a.png", b"\0" * 1_000_001) and heavy("a.json", b"\0" * 1_000_001) and not heavy("a.png", b"\0")


def machine_specific(name: str, text: str) -> Iterator[str]:
    """Yield lines with paths or addresses that are valid only on one machine or in one network."""
    for number, line in enumerate(text.splitlines(), 1):
        if NETWORK_PLACES.search(line) or MACHINE_PLACES.search(line):
            yield f"{name}:{number}: {line.strip()[:80]}"
        if re.search(r"requirements.*\.txt$", name) and not REQUIREMENT.fullmatch(line):
            yield f"{name}:{number}: neither a pin nor a hash: {line.strip()[:80]}"


def test_no_machine_specific_paths_or_addresses(files: list[str]) -> None:
    """No file names a package index, a mirror or a developer's folder."""
    found: list[str] = []
    for name in files:
        data = (ROOT / name).read_bytes()
        if b"\0" not in data[:8192] and "/golden/" not in name:
            found += machine_specific(name, data.decode("utf-8", errors="replace"))
    assert found == []
    for bad in ("https://files.python" + "hosted.org/x", "/" + "work/x", "--index" + "-url x"):
        assert list(machine_specific("packaging/requirements.txt", bad))


def lint_imports(folder: Path) -> str:
    """Return the output of import-linter for a folder."""
    program = "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", program, "--no-cache"]
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return f"{answer.stdout}{answer.stderr}\nexit code {answer.returncode}"


def test_import_contracts_hold() -> None:
    answer = lint_imports(ROOT)
    assert "exit code 0" in answer and " 0 broken" in answer, answer


@pytest.fixture(scope="module")
def broken_copy(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the output of import-linter for a copy of the source that breaks every contract."""
    copy = tmp_path_factory.mktemp("broken") / "copy"
    for name in ("app", "ui", "core"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    (copy / "ui" / "composer" / "bad.py").write_text("")
    for path, text in CONTRACTS.values():
        (copy / path).write_text(f"{text}\n")
    return lint_imports(copy)


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_contract_detects_its_violation(name: str, broken_copy: str) -> None:
    assert re.search(rf"{re.escape(name)} BROKEN", broken_copy), broken_copy


def test_every_contract_has_a_violation_here() -> None:
    names = re.findall(r'^name = "(.*)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(names) - {"journeyman"} == set(CONTRACTS)


def gui_libraries_loaded_by(modules: list[str]) -> set[str]:
    """Import these modules in a new process and return the GUI libraries that were loaded."""
    lines = [
        "from importlib import import_module",
        *(f"import_module({name!r})" for name in modules),  # the name of a migration starts with a digit
        "import sys; print(*{name.split('.')[0] for name in sys.modules})",
    ]
    answer = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return GUI_LIBRARIES & set(answer.stdout.split())


def test_core_loads_no_gui_library(sources: list[Source]) -> None:
    """Importing all of core does not load Qt, not even through a library."""
    names = [source.path.removesuffix(".py").removesuffix("/__init__") for source in sources if source.under("core/")]
    assert len(names) > 5
    assert gui_libraries_loaded_by([name.replace("/", ".") for name in names]) == set()
    assert gui_libraries_loaded_by(["qasync"]) == {"PySide6", "shiboken6", "qasync"}


def lost_references(call: Callable[[], object]) -> list[int]:
    """Return by how much 300 calls change the reference counts of None, True and False."""
    held = [None] * 1000 + [True] * 1000 + [False] * 1000  # so that a loss is harmless
    call()
    before = [sys.getrefcount(thing) for thing in (None, True, False)]
    for _ in range(300):
        call()
    after = [sys.getrefcount(thing) for thing in (None, True, False)]
    assert held
    return [now - then for now, then in zip(after, before, strict=True)]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="None is immortal there")
def test_qt_keeps_its_references() -> None:
    """PySide6 6.12.0 loses one reference to None per call here, and in the end aborts the interpreter."""
    from PySide6.QtCore import QObject

    thing = QObject()
    assert all(abs(lost) < 50 for lost in lost_references(lambda: thing.setObjectName("a")))


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="None is immortal there")
def test_a_lost_reference_is_seen() -> None:
    """A deliberate loss is counted, and then given back."""
    lose, give = ctypes.pythonapi.Py_DecRef, ctypes.pythonapi.Py_IncRef
    lose.argtypes = give.argtypes = [ctypes.py_object]
    assert lost_references(lambda: lose(None))[0] < -250
    assert [give(None) for _ in range(301)]
