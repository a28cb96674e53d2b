"""Connections on this computer are recognized by the user they belong to."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from core.workspace.socket_owner import is_of_another_user, is_own_peer

OTHER_USER, SERVICE = 54_321, 987
needs_root = pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can start programs of others")
CONNECT = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.send(b'x'); {}"
LISTEN = (
    "import socket, sys; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); input()"
)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def accept(listener: socket.socket) -> tuple[socket.socket, tuple[str, int], tuple[str, int]]:
    connection, peer = listener.accept()
    return connection, listener.getsockname(), peer


def test_an_own_connection_is_own(listener: socket.socket) -> None:
    with socket.create_connection(listener.getsockname()):
        connection, own, peer = accept(listener)
        with connection:
            assert is_own_peer(own, peer)


@needs_root
@pytest.mark.parametrize("then", ["input()", "s.close(); input()", "s.shutdown(1); input()"])
@pytest.mark.parametrize("user", [OTHER_USER, SERVICE])
def test_a_connection_of_another_user_is_not(listener: socket.socket, then: str, user: int) -> None:
    """Also after that user has closed it: then it belongs to nobody, which the kernel shows as root."""
    command = ["python3", "-c", CONNECT.format(then), str(listener.getsockname()[1])]
    with subprocess.Popen(command, stdin=subprocess.PIPE, user=user, group=user) as program:
        connection, own, peer = accept(listener)
        with connection:
            assert connection.recv(1) == b"x" and not ("close" in then and connection.recv(1))
            assert not is_own_peer(own, peer)
        assert program.stdin
        program.stdin.close()


@needs_root
def test_the_port_of_the_receiver_as_source_does_not_make_a_connection_own(listener: socket.socket) -> None:
    """Our own accepted end has the same two ports then."""
    port = listener.getsockname()[1]
    code = (
        f"import socket; s = socket.socket(); s.bind(('127.0.0.2', {port}));"
        f" s.connect(('127.0.0.1', {port})); s.send(b'x'); input()"
    )
    with subprocess.Popen(["python3", "-c", code], stdin=subprocess.PIPE, user=OTHER_USER, group=OTHER_USER) as program:
        connection, own, peer = accept(listener)
        with connection:
            assert connection.recv(1) == b"x" and own[1] == peer[1]
            assert not is_own_peer(own, peer)
        assert program.stdin
        program.stdin.close()


@needs_root
@pytest.mark.parametrize(
    ("user", "expected"), [(OTHER_USER, True), (200_001, True), (SERVICE, False), (65_000, False), (0, False)]
)
def test_only_listeners_of_another_user_are_refused(user: int, expected: bool) -> None:
    command = ["python3", "-c", LISTEN]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=user, group=user) as program:
        assert program.stdin and program.stdout
        assert is_of_another_user(int(program.stdout.readline())) is expected
        program.stdin.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_a_port_without_a_listener_is_of_nobody(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    assert not is_of_another_user(port) and not is_own_peer(("127.0.0.1", port), ("127.0.0.1", 1))
