"""The socket of the process that owns a data folder: who may use it, and what may be in its connection."""

import asyncio
import os
import shutil
import socket
import stat
import subprocess
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from app.process.command_server import CommandServer, has_private_sockets, run_in_owner
from app.process.output import Output
from core.domain.problems import Problem
from core.workspace.egress_proxy import EgressProxy

pytestmark = pytest.mark.skipif(not has_private_sockets(), reason="this system has no private sockets")
only_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can switch users"
)
OTHER_USER = ["setpriv", "--reuid=4321", "--regid=4321", "--clear-groups"]
REQUEST = b'{"typed": ["sessions"], "folder": "/"}\n'
# Runs as another user: connects, sends the request, and prints what it gets.
CLIENT = """
import socket, sys
connection = socket.socket(socket.AF_UNIX); connection.connect(sys.argv[1])
try:
    connection.sendall(sys.argv[2].encode()); print(connection.recv(99))
except OSError:
    print(b'')
"""
SERVER = """
import socket, sys
connection = socket.socket(socket.AF_UNIX); connection.bind(sys.argv[1]); connection.listen()
print('up', flush=True)
print(connection.accept()[0].recv(99))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user can enter, with a short path."""
    with TemporaryDirectory(prefix="jm-") as place:
        Path(place).chmod(0o777)
        yield Path(place)


def other_user(script: str, *words: str) -> "subprocess.Popen[bytes]":
    command = [*OTHER_USER, "/usr/bin/python3", "-c", script, *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, cwd="/")


def quiet() -> Output:
    return Output(lambda _: None, lambda _: None)


def serving(path: Path, then: Callable[[], Coroutine[Any, Any, Any]]) -> list[list[str]]:
    """Serve commands while `then` runs, and return those that were received."""
    received: list[list[str]] = []

    async def perform(words: list[str], _: Path, out: Output) -> int:
        received.append(words)
        return 7

    async def main() -> None:
        server = CommandServer(path, perform)
        await server.serve()
        try:
            await then()
        finally:
            await server.close()

    asyncio.run(main())
    return received


def test_the_same_user_is_served(folder: Path) -> None:
    async def ask() -> None:
        assert await run_in_owner(folder / "socket", ["sessions"], folder, quiet()) == 7

    assert serving(folder / "socket", ask) == [["sessions"]]


@only_root
def test_another_user_is_not_served_even_if_the_mode_allows_it(folder: Path) -> None:
    path, answers = folder / "socket", []

    async def ask() -> None:
        path.chmod(0o777)
        with other_user(CLIENT, str(path), REQUEST.decode()) as client:
            answers.append((await asyncio.to_thread(client.communicate))[0])

    assert serving(path, ask) == [] and answers == [b"b''\n"]


@only_root
def test_a_socket_of_another_user_is_not_trusted(folder: Path) -> None:
    path = folder / "socket"
    with other_user(SERVER, str(path)) as server:
        assert server.stdout and server.stdout.readline() == b"up\n"
        with pytest.raises(Problem, match="belongs to another user"):
            asyncio.run(run_in_owner(path, ["sessions"], folder, quiet()))
        assert server.stdout.readline() == b"b''\n"


@only_root
def test_the_proxy_does_not_serve_another_user(folder: Path) -> None:
    attempts: list[object] = []

    async def main() -> bytes:
        async with EgressProxy([("example.org", 80)], attempts.append) as proxy:
            proxy.path.parent.chmod(0o777)
            proxy.path.chmod(0o777)
            with other_user(CLIENT, str(proxy.path), "GET http://other.example/ HTTP/1.1\r\n\r\n") as client:
                return (await asyncio.to_thread(client.communicate))[0]

    assert asyncio.run(main()) == b"b''\n" and attempts == []


def test_a_folder_in_the_place_of_the_socket_is_reported(folder: Path) -> None:
    (folder / "socket").mkdir()
    (folder / "socket" / "file").touch()

    async def nothing() -> None:
        pass

    with pytest.raises(Problem, match="cannot be created") as found:
        serving(folder / "socket", nothing)
    assert f"Remove {folder / 'socket'}" in str(found.value.details.fix)
    assert (folder / "socket" / "file").exists()


def test_a_left_socket_is_replaced(folder: Path) -> None:
    path = folder / "socket"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))

    async def look() -> None:
        assert stat.S_ISSOCK(path.stat().st_mode) and path.stat().st_mode & 0o777 == 0o600

    assert serving(path, look) == [] and not path.exists()
