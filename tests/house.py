"""The house rules: one function or one table row each, with a sample that breaks it."""

import ast
import functools
import io
import re
import sys
import tokenize
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

TABLE_FILES = ("events.py", "tables.py", "catalogue.py", "schema.py", "commands.py", "looks.py", "panels.py")
BAD_NAMES = re.compile(r"(Manager|Helper|Helpers|Util|Utils)$")
BAD_FILES = re.compile(r"(^|[/_])(manager|helper|helpers|util|utils|misc|common)\.py$")
SQL = re.compile(
    r"\s*(SELECT\s.*\sFROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s.*\sSET|DELETE\s+FROM|PRAGMA\s|CREATE\s+\w)", re.S
)
BROAD = {"Exception", "BaseException"}
ALLOWED_BROAD_EXCEPTS = {  # the functions that may contain a broad `except`, and what raises the errors that it catches
    ("core/engine/run/execute.py", "execute_call"): "a tool; the error is its result",
    (
        "core/tools/revert_unapproved.py",
        "_required_revert",
    ): "what a command wrote at one path; it is reverted like the others",
    ("core/tools/revert_unapproved.py", "_committed"): "a repository that a command made unreadable; it is not trusted",
    ("core/tools/recover_commands.py", "_restore_history"): "a record that a command damaged; the result says so",
    ("core/tools/run.py", "_restore_history"): "history that a command made unreadable; the result says so",
    ("core/engine/state/live_updates.py", "publish"): "listeners of streamed drafts",
    ("core/learning/review.py", "_handle"): "the review of a run; the error is reported",
    ("core/engine/run/memory_recall.py", "recall_memories"): "memory, which must not stop a run",
    ("core/engine/lifecycle/run_controller.py", "_run_to_end"): "a bug in a run, which ends only that run",
    ("core/engine/lifecycle/scheduler.py", "_start_due"): "a bug in one start, reported with its schedule",
    ("core/engine/lifecycle/scheduler.py", "_report_due"): "the listener of due schedules; the error is reported",
    ("core/store/journal.py", "_notify"): "listeners of the journal",
    ("core/settings/api_keys.py", "_run_on_keyring"): "keyring backends, which raise arbitrary exceptions",
    ("app/dispatch.py", "_exit_code"): "a bug in a command, shown as an error",
    ("app/commands/command_runner.py", "run_command"): "a bug in a command, which must not end the window's process",
    ("app/window/engine_thread.py", "_run"): "the start of the engine, raised in the thread that waits for it",
    ("core/store/database.py", "_write"): "the writer thread, raised where the database is opened",
    ("core/store/database.py", "_commit"): "the writer thread, raised where the job is awaited",
    ("core/store/database.py", "_attempt"): "the writer thread, raised where the job is awaited",
    ("core/store/derived_rows.py", "write"): "the rows of one session, reported; those of the others are written",
}

Node = TypeVar("Node", bound=ast.AST)


class Source(NamedTuple):
    """A Python file: its path in the repository and its text."""

    path: str
    text: str

    def under(self, *places: str) -> bool:
        return self.path.startswith(places)


@functools.cache
def walked(text: str) -> tuple[ast.AST, ...]:
    """Return all AST nodes of a source text."""
    return tuple(ast.walk(ast.parse(text)))


@functools.cache
def called(text: str) -> tuple[tuple[ast.Call, str], ...]:
    """Return all calls of a source text, each with the called expression as source."""
    return tuple((node, ast.unparse(node.func)) for node in walked(text) if isinstance(node, ast.Call))


def nodes(source: Source, kind: type[Node]) -> Iterator[Node]:
    """Yield all nodes of a type."""
    return (node for node in walked(source.text) if isinstance(node, kind))


def functions(source: Source) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from nodes(source, ast.FunctionDef)
    yield from nodes(source, ast.AsyncFunctionDef)


class Rule(NamedTuple):
    """A rule: a function that yields the violations in a file, and sample files that break the rule."""

    find: Callable[[Source], Iterator[str]]
    samples: tuple[Source, ...]


def rule(find: Callable[[Source], Iterator[str]], *samples: str, path: str = "core/bad.py") -> Rule:
    """Return a rule whose samples all have the same path."""
    return Rule(find, tuple(Source(path, text) for text in samples))


class Call(NamedTuple):
    """A call that is forbidden in the files of `rule_for`, except in those of `only_in`."""

    pattern: str
    bad_text: str
    only_in: tuple[str, ...] = ()
    rule_for: tuple[str, ...] = ("app/", "ui/", "core/", "tests/", "packaging/")


class Import(NamedTuple):
    """Libraries that only some folders may import."""

    roots: tuple[str, ...]
    only_in: tuple[str, ...]


CALLS = {
    "no nested event loop": Call(
        r"\.exec_?$", "dialog.exec()", rule_for=("app/", "ui/", "tests/ui/", "tests/e2e/", "tests/app/")
    ),
    "no blocking dialogs": Call(
        r"^(QMessageBox\.(question|information|warning|critical|about\w*)|Q(File|Input|Color|Font)Dialog\.get\w+)$",
        "QMessageBox.question(None, 'a', 'b')",
    ),
    "processEvents only at first paint": Call(
        r"(^|\.)processEvents$", "app.processEvents()", ("app/", "tests/screens/")
    ),
    "one style sheet": Call(r"(^|\.)setStyleSheet$", "label.setStyleSheet('')", ("ui/style/theme.py",)),
    "one function applies styles": Call(r"\.polish$", "label.style().polish(label)", ("ui/style/theme.py",)),
    "the application is passed, not looked up": Call(
        r"Q\w*Application\.instance$", "QApplication.instance()", ("app/", "ui/style/theme.py", "tests/")
    ),
    # PySide makes the returned widget a child of the one before, and forgets it when that one is deleted.
    "no walks of the focus chain": Call(
        r"\.(next|previous)InFocusChain$", "part = panel.nextInFocusChain()", rule_for=("app/", "ui/")
    ),
    "no grandparents": Call(r"parent(Widget)?\(\)\.parent(Widget)?$", "x = self.parent().parent()"),
    "tasks have an owner": Call(
        r"^((asyncio|\w*loop|.*_loop\(\))\.)?(create_task|ensure_future)$",
        "asyncio.create_task(work())",
        (
            "core/engine/lifecycle/run_controller.py",
            "core/engine/lifecycle/live_run.py",
            "core/mcp/connection.py",
            "core/agents/json_rpc.py",
            "core/agents/connection.py",
            "core/agents/agent_pool.py",
            "core/models/local/model_downloads.py",
            "core/models/local/model_server.py",
            "ui/base/tasks.py",
        ),
        ("app/", "ui/", "core/"),
    ),
    "no decorated slots, no global loop policy": Call(r"(^|\.)(asyncSlot|asyncClose)$|^qasync\.run$", "qasync.run(x)"),
    "one place starts asyncio": Call(
        r"^asyncio\.run$", "asyncio.run(main())", ("app/window/engine_thread.py",), ("app/", "ui/", "core/")
    ),
    "no sleeps": Call(r"^(time\.)?sleep$|\.qWait$|\.qSleep$", "time.sleep(1)"),
    "tests wait for conditions": Call(r"qtbot\.wait$", "qtbot.wait(100)"),
    "one place prints": Call(
        r"^print$",
        "print('x')",
        (
            "app/process/output.py",
            "packaging/",
            "tests/bench/",
            "tests/faults/",
            "tests/soak/",
            "tests/monkey/",
            "tests/eval/",
            "tests/servers/thinking.py",
            "tests/servers/serve_gguf.py",
        ),
    ),
    "no mocks": Call(r"(^|\.)(\w*Mock|create_autospec)$|^mock\.patch|^mocker\.", "MagicMock()"),
}
IMPORTS = {
    "only core/store uses the database": Import(("sqlite3", "sqlmodel", "sqlalchemy"), ("core/store/", "tests/")),
    "three packages use the network": Import(
        ("httpx", "httpcore"), ("core/models/", "core/tools/", "core/exchange/", "tests/")
    ),
    "one package uses MCP": Import(("mcp", "mcp_types"), ("core/mcp/", "tests/")),
    "one module uses the keyring": Import(("keyring",), ("core/settings/api_keys.py", "tests/")),
    "core does not import Qt": Import(
        ("PySide6", "shiboken6", "qasync"), ("app/", "ui/", "tests/", "packaging/icons.py")
    ),
    "only the window renders Markdown": Import(("markdown_it",), ("ui/", "tests/")),
    "no mocks are imported": Import(("unittest", "mock", "pytest_mock"), ()),
}


def long_file(source: Source) -> Iterator[str]:
    limit = 600 if source.under("tests/") or source.path.endswith(TABLE_FILES) else 500
    if (lines := source.text.count("\n")) > limit:
        yield f"1: the file has {lines} lines, the limit is {limit}"


def long_function(source: Source) -> Iterator[str]:
    for node in functions(source):
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if lines > 60:
            yield f"{node.lineno}: {node.name} has {lines} lines, the limit is 60"


def no_purpose(source: Source) -> Iterator[str]:
    if not (ast.get_docstring(next(nodes(source, ast.Module))) or "").rstrip().endswith((".", "!", "?")):
        yield "1: the file has no docstring that is a full sentence"


def painter_left_open(source: Source) -> Iterator[str]:
    """A painter that is not ended before its widget is shown draws nothing, and may crash the process."""
    held = {id(item.context_expr) for node in nodes(source, ast.With) for item in node.items}
    for call, name in called(source.text):
        if (
            name.endswith("Painter")
            and name.startswith(("QPainter", "QStylePainter", "QtGui."))
            and id(call) not in held
        ):
            yield f"{call.lineno}: use `with {name}(…) as painter`, which ends the painter"


def bad_file_name(source: Source) -> Iterator[str]:
    if BAD_FILES.search(source.path):
        yield "1: the file name does not say what the file contains"


def bad_name(source: Source) -> Iterator[str]:
    for thing in nodes(source, ast.ClassDef):
        if BAD_NAMES.search(thing.name):
            yield f"{thing.lineno}: class {thing.name}"


def repeated_classes(sources: Iterable[Source]) -> Iterator[str]:
    """Yield the public class names that the product (app, ui and core) uses more than once, with their files."""
    places: dict[str, list[str]] = {}
    for source in sources:
        if source.under("app/", "ui/", "core/"):
            for node in ast.parse(source.text).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places.setdefault(node.name, []).append(source.path)
    yield from (f"class {name}: {', '.join(paths)}" for name, paths in sorted(places.items()) if len(paths) > 1)


def broad_except(source: Source) -> Iterator[str]:
    for line, place in broad_handlers(source):
        if (source.path, place) not in ALLOWED_BROAD_EXCEPTS:
            yield f"{line}: a broad except; if it is needed, list it in ALLOWED_BROAD_EXCEPTS of tests/house.py"
    for node, name in called(source.text):
        if name.endswith("suppress") and any(is_broad(argument) for argument in node.args):
            yield f"{node.lineno}: a broad suppress"


def broad_handlers(source: Source) -> Iterator[tuple[int, str]]:
    """Yield line and innermost function of each broad except, unless it ends in a bare `raise`, which hides nothing."""
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
            yield f"{token.start[0]}: a type-ignore comment without an error code"
        if "noqa" in token.string and not re.search(r"noqa: [A-Z]+\d+(, ?[A-Z]+\d+)*\s+[#-] \S", token.string):
            yield f"{token.start[0]}: a noqa comment without a code and a reason"


def skipped(source: Source) -> Iterator[str]:
    reasoned = {id(node.func) for node, _ in called(source.text) if any(word.arg == "reason" for word in node.keywords)}
    for mark in nodes(source, ast.Attribute):
        if id(mark) not in reasoned and re.search(r"mark\.(skip|skipif|xfail)$", ast.unparse(mark)):
            yield f"{mark.lineno}: a skipped test without a reason"


def sql_text(source: Source) -> Iterator[str]:
    if source.under("core/store/", "tests/"):
        return
    for node in nodes(source, ast.Constant):
        if isinstance(node.value, str) and SQL.match(node.value):
            yield f"{node.lineno}: SQL outside of core/store"


def foreign_import_of_domain(source: Source) -> Iterator[str]:
    if not source.under("core/domain/"):
        return
    for line, name in imports(source):
        if name.split(".")[0] not in sys.stdlib_module_names and not f"{name}.".startswith("core.domain."):
            yield f"{line}: {name} is not in the standard library"


def imports(source: Source) -> Iterator[tuple[int, str]]:
    """Yield line and name of every module that a file imports, including imports in functions."""
    for plain in nodes(source, ast.Import):
        yield from ((plain.lineno, alias.name) for alias in plain.names)
    for node in nodes(source, ast.ImportFrom):
        yield node.lineno, node.module or ""


def call_rule(call: Call) -> Rule:
    """Return the rule for an entry of CALLS."""

    def find(source: Source) -> Iterator[str]:
        if not source.under(*call.rule_for) or (call.only_in and source.under(*call.only_in)):
            return
        for node, name in called(source.text):
            if re.search(call.pattern, name):
                yield f"{node.lineno}: {name}(…)"

    return rule(find, call.bad_text, path="ui/bad.py")


def import_rule(limits: Import) -> Rule:
    """Return the rule for an entry of IMPORTS."""

    def find(source: Source) -> Iterator[str]:
        if limits.only_in and source.under(*limits.only_in):
            return
        for line, name in imports(source):
            if name.split(".")[0] in limits.roots:
                yield f"{line}: import {name}"

    samples = [f"def late():\n    from {root} import x" for root in limits.roots]
    return rule(find, *samples, path="core/engine/bad.py")


RULES: dict[str, Rule] = {
    "files are short": rule(long_file, "x = 1\n" * 501),
    "functions are short": rule(long_function, "def f():\n" + "    x = 1\n" * 60),
    "files have a docstring": rule(no_purpose, "x = 1", '"""Things"""'),
    "class names are specific": rule(bad_name, "class RunManager: ..."),
    "file names are specific": rule(bad_file_name, "", path="core/engine/utils.py"),
    "broad excepts are listed": rule(
        broad_except,
        "try:\n    f()\nexcept (KeyError, Exception):\n    x = 1",
        "def act():\n    try:\n        f()\n    except:\n        raise KeyError from None",
        "with contextlib.suppress(BaseException): f()",
    ),
    "suppressed warnings have a code and a reason": rule(
        silenced, "x = f()  # type: " + "ignore", "x = f()  # no" + "qa: E501", "x = f()  # no" + "qa - because"
    ),
    "skipped tests have a reason": rule(
        skipped, "@pytest.mark.skipif(True)\ndef test(): ...", "@pytest.mark.xfail\ndef test(): ..."
    ),
    "painters are ended": rule(
        painter_left_open, "painter = QPainter(self)", "draw(QStylePainter(self))", path="ui/bad.py"
    ),
    "SQL is in core/store": rule(sql_text, "q = '''\n  SELECT a\n  FROM b'''", "q = f'DELETE FROM {t}'"),
    "core/domain imports only the standard library": rule(
        foreign_import_of_domain, "import pydantic", "from core.store import x", path="core/domain/bad.py"
    ),
    **{name: call_rule(call) for name, call in CALLS.items()},
    **{name: import_rule(limits) for name, limits in IMPORTS.items()},
}
