"""The files that edits and differences change: looked at and written through the broker of the run."""

from core.domain.problems import Problem
from core.domain.visible import visible_name
from core.tools.place import Place
from core.workspace.paths import is_text

LIMIT = 8 << 20


def look(place: Place, name: str) -> bytes:
    """The contents of an ordinary file of a sane size."""
    return place.broker.read(name, LIMIT, keys=False)


def refuse_unspeakable(name: str) -> None:
    """What no fact can name would be told of another file."""
    if not is_text(name):
        raise Problem(f"{visible_name(name)} cannot be changed.", "Its name is not UTF-8.", "Name another file.")


def put(place: Place, name: str, body: bytes | None, mode: int = 0) -> tuple[int, int]:
    """Give a file these contents, whole; None removes it. Its permission bits before and after, where it had some."""
    refuse_unspeakable(name)
    had = place.broker.mode(place.broker.real(name))
    if body is None:
        place.broker.remove(name, protected=bool(place.word.opens))
    else:
        place.broker.write(name, body, protected=bool(place.word.opens), mode=mode)
    return had, 0 if body is None else mode or had


def same_file(place: Place, names: list[str]) -> bool:
    """Do two of the names mean one file?"""
    return len({place.broker.real(name) for name in names}) < len(names)
