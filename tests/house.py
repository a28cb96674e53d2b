"""The rules of the house, one function or one line of a table each, with a sample that breaks it."""

import ast
import functools
import io
import re
import sys
import tokenize
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

TABLE_FILES = ("events.py", "tables.py", "catalogue.py", "schema.py", "commands.py", "looks.py", "panels.py")
BAD_NAMES = re.compile(r"(Manager|Helper|Helpers|Util|Utils|Service|Controller)$")
FOREIGN_NAMES = ("get_password", "__get_pydantic_json_schema__")  # what a library wants to be called
BAD_FILES = re.compile(r"(^|[/_])(manager|helper|helpers|util|utils|service|controller|misc|common)\.py$")
SQL = re.compile(
    r"\s*(SELECT\s.*\sFROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s.*\sSET|DELETE\s+FROM|PRAGMA\s|CREATE\s+\w)", re.S
)
BROAD = {"Exception", "BaseException"}
DOORS = {  # the functions in which a broad `except` may stand, and whose faults it catches
    ("core/engine/acts.py", "act"): "a tool's own code, told to the model",
    ("core/engine/drafts.py", "tell"): "whoever listens to the drafts",
    ("core/learning/review.py", "_do"): "looking back at a run, told to whoever reports bugs",
    ("core/engine/remembering.py", "remember"): "memory, without which a reply goes on",
    ("core/engine/runs.py", "_last_word"): "a bug in a run, which ends that run alone",
    ("core/store/journal.py", "_tell"): "whoever listens to the journal",
    ("core/settings/secrets.py", "_answered"): "keyrings, which raise what their makers like",
    ("app/main.py", "_in_words"): "a bug in a command, told in words",
    ("app/perform.py", "perform_typed"): "a bug in a command, which the window it works in outlives",
    ("app/engine_thread.py", "_run"): "the engine's start, told to whoever waits for it",
    ("core/store/database.py", "_write"): "the writing thread, told to whoever opens the file",
    ("core/store/database.py", "_commit"): "the writing thread, told to whoever waits for the job",
    ("core/store/database.py", "_attempt"): "the writing thread, told to whoever waits for the job",
}

Node = TypeVar("Node", bound=ast.AST)


class Source(NamedTuple):
    """A Python file: its place in the tree and its text."""

    path: str
    text: str

    def under(self, *places: str) -> bool:
        return self.path.startswith(places)


@functools.cache
def walked(text: str) -> tuple[ast.AST, ...]:
    """Every node of a text."""
    return tuple(ast.walk(ast.parse(text)))


@functools.cache
def called(text: str) -> tuple[tuple[ast.Call, str], ...]:
    """Every call of a text, and what it calls as it is written."""
    return tuple((node, ast.unparse(node.func)) for node in walked(text) if isinstance(node, ast.Call))


def nodes(source: Source, kind: type[Node]) -> Iterator[Node]:
    """Every node of this kind, in no order."""
    return (node for node in walked(source.text) if isinstance(node, kind))


def functions(source: Source) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method."""
    yield from nodes(source, ast.FunctionDef)
    yield from nodes(source, ast.AsyncFunctionDef)


class Rule(NamedTuple):
    """What it looks for, and files that break it: where each would stand, and its text."""

    find: Callable[[Source], Iterator[str]]
    samples: tuple[Source, ...]


def rule(find: Callable[[Source], Iterator[str]], *samples: str, path: str = "core/bad.py") -> Rule:
    """A rule with samples that stand at one place."""
    return Rule(find, tuple(Source(path, text) for text in samples))


class Call(NamedTuple):
    """A call that may stand nowhere, or only in the places named."""

    pattern: str
    bad_text: str
    only_in: tuple[str, ...] = ()
    rule_for: tuple[str, ...] = ("app/", "ui/", "core/", "tests/", "packaging/")


class Import(NamedTuple):
    """Libraries that only some places may import."""

    roots: tuple[str, ...]
    only_in: tuple[str, ...]


CALLS = {
    "no nested loop": Call(
        r"\.exec_?$", "dialog.exec()", rule_for=("app/", "ui/", "tests/ui/", "tests/e2e/", "tests/app/")
    ),
    "no dialog that waits": Call(
        r"^(QMessageBox\.(question|information|warning|critical|about\w*)|Q(File|Input|Color|Font)Dialog\.get\w+)$",
        "QMessageBox.question(None, 'a', 'b')",
    ),
    "events are pumped at first paint only": Call(r"(^|\.)processEvents$", "app.processEvents()", ("app/",)),
    "one style sheet": Call(r"(^|\.)setStyleSheet$", "label.setStyleSheet('')", ("ui/theme.py",)),
    "worn by one function": Call(r"\.polish$", "label.style().polish(label)", ("ui/theme.py",)),
    "no application out of the air": Call(
        r"Q\w*Application\.instance$", "QApplication.instance()", ("app/", "ui/theme.py", "tests/")
    ),
    "no grandparents": Call(r"parent(Widget)?\(\)\.parent(Widget)?$", "x = self.parent().parent()"),
    "tasks have an owner": Call(
        r"^((asyncio|\w*loop|.*_loop\(\))\.)?(create_task|ensure_future)$",
        "asyncio.create_task(work())",
        (
            "core/engine/runs.py",
            "core/engine/going.py",
            "core/servers/connection.py",
            "core/agents/peer.py",
            "core/agents/connection.py",
            "core/agents/guests.py",
            "ui/tasks.py",
        ),
        ("app/", "ui/", "core/"),
    ),
    "no decorated slots, no global loop policy": Call(r"(^|\.)(asyncSlot|asyncClose)$|^qasync\.run$", "qasync.run(x)"),
    "one door to asyncio": Call(
        r"^asyncio\.run$", "asyncio.run(main())", ("app/engine_thread.py",), ("app/", "ui/", "core/")
    ),
    "nobody sleeps": Call(r"^(time\.)?sleep$|\.qWait$|\.qSleep$", "time.sleep(1)"),
    "tests wait for conditions": Call(r"qtbot\.wait$", "qtbot.wait(100)"),
    "one place prints": Call(
        r"^print$",
        "print('x')",
        ("app/output.py", "packaging/", "tests/bench/", "tests/faults/", "tests/soak/", "tests/walk/", "tests/eval/"),
    ),
    "no mocks": Call(r"(^|\.)(\w*Mock|create_autospec)$|^mock\.patch|^mocker\.", "MagicMock()"),
}
IMPORTS = {
    "the database has one floor": Import(("sqlite3", "sqlmodel", "sqlalchemy"), ("core/store/", "tests/")),
    "the network has three": Import(("httpx", "httpcore"), ("core/models/", "core/tools/", "core/exchange/", "tests/")),
    "tool servers have one door": Import(("mcp", "mcp_types"), ("core/servers/", "tests/")),
    "the keyring has one door": Import(("keyring",), ("core/settings/secrets.py", "tests/")),
    "core knows no window": Import(("PySide6", "shiboken6", "qasync"), ("app/", "ui/", "tests/", "packaging/icons.py")),
    "Markdown is painted in the window": Import(("markdown_it",), ("ui/", "tests/")),
    "no mocks are imported": Import(("unittest", "mock", "pytest_mock"), ()),
}


def long_file(source: Source) -> Iterator[str]:
    wall = 600 if source.under("tests/") or source.path.endswith(TABLE_FILES) else 400
    if (lines := source.text.count("\n")) > wall:
        yield f"1: {lines} lines, the wall is {wall}"


def long_function(source: Source) -> Iterator[str]:
    for node in functions(source):
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if lines > 60:
            yield f"{node.lineno}: {node.name} has {lines} lines, the wall is 60"


def no_purpose(source: Source) -> Iterator[str]:
    if not (ast.get_docstring(next(nodes(source, ast.Module))) or "").rstrip().endswith((".", "!", "?")):
        yield "1: the file does not open with a sentence that says what it is for"


def painter_left_open(source: Source) -> Iterator[str]:
    """One that is not ended before its widget is shown draws nothing, and may end the process."""
    held = {id(item.context_expr) for node in nodes(source, ast.With) for item in node.items}
    for call, name in called(source.text):
        if (
            name.endswith("Painter")
            and name.startswith(("QPainter", "QStylePainter", "QtGui."))
            and id(call) not in held
        ):
            yield f"{call.lineno}: {name} outlives its strokes: write `with {name}(…) as painter`"


def bad_file_name(source: Source) -> Iterator[str]:
    if BAD_FILES.search(source.path):
        yield "1: the name of the file says nothing"


def bad_name(source: Source) -> Iterator[str]:
    for thing in nodes(source, ast.ClassDef):
        if BAD_NAMES.search(thing.name):
            yield f"{thing.lineno}: class {thing.name}"
    for node in functions(source):
        if node.name.lstrip("_").startswith("get_") and node.name not in FOREIGN_NAMES:
            yield f"{node.lineno}: def {node.name}"


def broad_except(source: Source) -> Iterator[str]:
    for line, place in broad_handlers(source):
        if (source.path, place) not in DOORS:
            yield f"{line}: a broad except; a new door needs its line in DOORS of tests/house.py"
    for node, name in called(source.text):
        if name.endswith("suppress") and any(is_broad(argument) for argument in node.args):
            yield f"{node.lineno}: a broad suppress"


def broad_handlers(source: Source) -> Iterator[tuple[int, str]]:
    """Line and innermost function of each; one that ends in a bare `raise` hides nothing and does not count."""
    broad = [handler for handler in nodes(source, ast.ExceptHandler) if is_broad(handler.type) and not _raises(handler)]
    places = {id(node): function.name for function in functions(source) for node in ast.walk(function)} if broad else {}
    yield from ((handler.lineno, places.get(id(handler), "")) for handler in broad)


def _raises(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def is_broad(kind: ast.expr | None) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(is_broad(part) for part in kind.elts)
    return kind is None or ast.unparse(kind).split(".")[-1] in BROAD


def silenced(source: Source) -> Iterator[str]:
    if not re.search("noqa|type:", source.text):
        return
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type != tokenize.COMMENT:
            continue
        if re.search(r"type:\s*ignore(?!\[)", token.string):
            yield f"{token.start[0]}: an ignored type without its code"
        if "noqa" in token.string and not re.search(r"noqa: [A-Z]+\d+(, ?[A-Z]+\d+)*\s+[#-] \S", token.string):
            yield f"{token.start[0]}: a noqa without code and reason"


def skipped(source: Source) -> Iterator[str]:
    reasoned = {id(node.func) for node, _ in called(source.text) if any(word.arg == "reason" for word in node.keywords)}
    for mark in nodes(source, ast.Attribute):
        if id(mark) not in reasoned and re.search(r"mark\.(skip|skipif|xfail)$", ast.unparse(mark)):
            yield f"{mark.lineno}: a test left out without reason"


def sql_text(source: Source) -> Iterator[str]:
    if source.under("core/store/", "tests/"):
        return
    for node in nodes(source, ast.Constant):
        if isinstance(node.value, str) and SQL.match(node.value):
            yield f"{node.lineno}: SQL outside the store"


def foreign_import_of_domain(source: Source) -> Iterator[str]:
    if not source.under("core/domain/"):
        return
    for line, name in imports(source):
        if name.split(".")[0] not in sys.stdlib_module_names and not f"{name}.".startswith("core.domain."):
            yield f"{line}: {name} is not in the standard library"


def imports(source: Source) -> Iterator[tuple[int, str]]:
    """Every module a file imports, also inside functions."""
    for plain in nodes(source, ast.Import):
        yield from ((plain.lineno, alias.name) for alias in plain.names)
    for node in nodes(source, ast.ImportFrom):
        yield node.lineno, node.module or ""


def call_rule(call: Call) -> Rule:
    """The rule of one line of CALLS."""

    def find(source: Source) -> Iterator[str]:
        if not source.under(*call.rule_for) or (call.only_in and source.under(*call.only_in)):
            return
        for node, name in called(source.text):
            if re.search(call.pattern, name):
                yield f"{node.lineno}: {name}(…)"

    return rule(find, call.bad_text, path="ui/bad.py")


def import_rule(wall: Import) -> Rule:
    """The rule of one line of IMPORTS."""

    def find(source: Source) -> Iterator[str]:
        if wall.only_in and source.under(*wall.only_in):
            return
        for line, name in imports(source):
            if name.split(".")[0] in wall.roots:
                yield f"{line}: import {name}"

    samples = [f"def late():\n    from {root} import x" for root in wall.roots]
    return rule(find, *samples, path="core/engine/bad.py")


RULES: dict[str, Rule] = {
    "files end": rule(long_file, "x = 1\n" * 401),
    "functions end": rule(long_function, "def f():\n" + "    x = 1\n" * 60),
    "files say what they are for": rule(no_purpose, "x = 1", '"""Things"""'),
    "names mean something": rule(bad_name, "class RunManager: ...", "async def get_run(): ..."),
    "file names mean something": rule(bad_file_name, "", path="core/engine/utils.py"),
    "broad excepts stand at doors": rule(
        broad_except,
        "try:\n    f()\nexcept (KeyError, Exception):\n    x = 1",
        "def act():\n    try:\n        f()\n    except:\n        raise KeyError from None",
        "with contextlib.suppress(BaseException): f()",
    ),
    "what is silenced has code and reason": rule(
        silenced, "x = f()  # type: " + "ignore", "x = f()  # no" + "qa: E501", "x = f()  # no" + "qa - because"
    ),
    "tests are left out with a reason": rule(
        skipped, "@pytest.mark.skipif(True)\ndef test(): ...", "@pytest.mark.xfail\ndef test(): ..."
    ),
    "painters end": rule(painter_left_open, "painter = QPainter(self)", "draw(QStylePainter(self))", path="ui/bad.py"),
    "SQL stands in the store": rule(sql_text, "q = '''\n  SELECT a\n  FROM b'''", "q = f'DELETE FROM {t}'"),
    "the domain needs nobody": rule(
        foreign_import_of_domain, "import pydantic", "from core.store import x", path="core/domain/bad.py"
    ),
    **{name: call_rule(call) for name, call in CALLS.items()},
    **{name: import_rule(wall) for name, wall in IMPORTS.items()},
}
