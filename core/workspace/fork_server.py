"""Starts processes by forking a running one, because starting Python takes several times as long."""

import marshal
import os
import socket
import struct
import subprocess
import threading
from collections.abc import Mapping, Sequence

ANSWER_S = 20.0  # timeout in seconds for an answer of the server, which may still be starting on a busy machine


class ForkedProcess:
    """A child process that the fork server created. Call `wait` once, as for `subprocess.Popen`, to reap it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def wait(self) -> int:
        """Wait until the process has ended and return its exit code; negative for a signal."""
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode


class ForkServer:
    """A process that runs `argv`, with the number of a socket as last argument, and forks when asked on that socket.

    It is started at the first fork and ends when the socket is closed. The forked processes are children of this
    process; the kernel kills them when the thread that started the server ends.
    """

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = argv
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def fork(
        self, arguments: Sequence[str], environment: Mapping[str, str], input_fd: int, output_fd: int
    ) -> ForkedProcess:
        """Fork a process with these arguments, environment and descriptors; raise OSError if it cannot be started."""
        body = marshal.dumps((list(arguments), dict(environment)))
        with self._lock:
            connection = self._connect()
            try:
                socket.send_fds(connection, [struct.pack("Q", len(body))], [input_fd, output_fd])
                connection.sendall(body)
                answer = connection.recv(4)
            except OSError:
                answer = b""
            if len(answer) < 4:  # the server died; do not try again, because it may have forked already
                self._stop()
                raise OSError("the process that starts commands has ended")
        pid = struct.unpack("i", answer)[0]
        if pid < 0:
            raise OSError(-pid, os.strerror(-pid))
        return ForkedProcess(pid)

    def _connect(self) -> socket.socket:
        if self._socket is None or self._process is None or self._process.poll() is not None:
            self._stop()
            self._socket, server_end = socket.socketpair()
            self._socket.settimeout(ANSWER_S)
            with server_end:
                null = subprocess.DEVNULL
                self._process = subprocess.Popen(
                    (*self._argv, str(server_end.fileno())),
                    cwd="/",
                    env={},
                    stdin=null,
                    stdout=null,
                    stderr=null,
                    pass_fds=[server_end.fileno()],
                    start_new_session=True,
                )
        return self._socket

    def close(self) -> None:
        """Kill the server. Processes that it has forked keep running."""
        with self._lock:
            self._stop()

    def _stop(self) -> None:
        if self._socket:
            self._socket.close()
        if self._process:
            self._process.kill()
            self._process.wait()
        self._socket = self._process = None
