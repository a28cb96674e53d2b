"""The engine, which the window and the command line share: its methods return values, never parts of its machinery."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

import core
from core.domain.problems import Problem
from core.engine.api.engine import Engine
from core.timeline.run_summary import RunSummary
from tests.core.engine.harness import open_engine, run_bounded

PLAIN: Final = (
    str,
    bytes,
    int,
    float,
    type(None),
    tuple,
    list,
    dict,
    set,
    frozenset,
    Path,
    Problem,
    RunSummary,
    UnionType,
)


def core_classes() -> dict[str, type]:
    """Return every class of the core by its name, which is used once."""
    modules = [importlib.import_module(found.name) for found in pkgutil.walk_packages(core.__path__, "core.")]
    return {name: value for module in modules for name, value in vars(module).items() if inspect.isclass(value)}


def classes_in(annotation: Any) -> Iterator[type]:
    """Yield the classes that a type annotation names, at any depth."""
    for part in (get_origin(annotation) or annotation, *get_args(annotation)):
        if part is not annotation and get_args(part):
            yield from classes_in(part)
        elif inspect.isclass(part):
            yield part


def is_plain(kind: type) -> bool:
    if is_dataclass(kind) and kind is not RunSummary:  # which changes until the last event of its session
        return bool(vars(kind)["__dataclass_params__"].frozen)
    return kind.__module__ == "collections.abc" or issubclass(kind, PLAIN)


def services_of(engine: Engine) -> dict[str, object]:
    """Return the engine and the services that it offers as attributes, such as `engine.memory`."""
    names = [name for name in {*vars(engine), *vars(type(engine))} if not name.startswith("_")]
    values = {name: getattr(engine, name) for name in names}
    return {"engine": engine} | {name: value for name, value in values.items() if not inspect.isroutine(value)}


def test_L1_the_methods_of_the_engine_and_its_services_return_plain_values(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            services = services_of(scene.engine)
        assert {"engine", "memory", "skills", "history", "proposals", "queue", "archive", "settings"} <= services.keys()
        classes, found, count = core_classes(), dict[str, str](), 0
        for service, value in services.items():
            for name, method in inspect.getmembers(type(value), inspect.isfunction):
                if name.startswith("_"):
                    continue
                count += 1
                returned = get_type_hints(method, localns=classes).get("return")
                found |= {f"{service}.{name}": kind.__name__ for kind in classes_in(returned) if not is_plain(kind)}
        assert found == {} and count > 150

    run_bounded(main())
