"""The files that edits and differences change: looked at and written through the broker of the folder."""

from pathlib import Path

from core.workspace.broker import Broker

LIMIT = 8 << 20


def exists(workspace: Path, name: str) -> bool:
    with Broker(workspace) as broker:
        return broker.look(name) is not None


def look(workspace: Path, name: str) -> bytes:
    """The contents of an ordinary file of a sane size."""
    with Broker(workspace) as broker:
        return broker.read(name, LIMIT)


def put(workspace: Path, name: str, body: bytes | None) -> None:
    """Give a file these contents, whole; None removes it. Folders on the way are made."""
    with Broker(workspace) as broker:
        if body is None:
            broker.remove(name)
        else:
            broker.write(name, body)


def same_file(workspace: Path, names: list[str]) -> bool:
    """Do two of the names mean one file?"""
    with Broker(workspace) as broker:
        return len({broker.real(name) for name in names}) < len(names)
