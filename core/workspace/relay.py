"""A script inside the sandbox that forwards a local port to the proxy socket; it imports nothing else of Journeyman."""

import contextlib
import os
import socket
import sys
import threading


def pump(source: socket.socket, target: socket.socket) -> None:
    """Copy data from one socket to the other until the source ends; then signal the end to the target."""
    with contextlib.suppress(OSError):
        while chunk := source.recv(65_536):
            target.sendall(chunk)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def serve(listener: socket.socket, proxy_path: str) -> None:
    """Forward every connection to the proxy, each in two daemon threads."""
    while True:
        client, _ = listener.accept()
        proxy = socket.socket(socket.AF_UNIX)
        try:
            proxy.connect(proxy_path)
        except OSError:
            client.close()
            continue
        for pair in ((client, proxy), (proxy, client)):
            threading.Thread(target=pump, args=pair, daemon=True).start()


def main(arguments: list[str]) -> None:
    """Run a command as a child process and exit with its exit code, forwarding connections meanwhile.

    `arguments` are the path of the proxy socket, the port to listen on, and the command line.
    """
    listener = socket.create_server(("127.0.0.1", int(arguments[1])), backlog=64)
    child = os.fork()
    if child == 0:
        os.execv(arguments[2], arguments[2:])
    threading.Thread(target=serve, args=(listener, arguments[0]), daemon=True).start()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main(sys.argv[1:])
