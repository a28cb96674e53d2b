"""Network access of commands: none, or allowed hosts only; and private addresses in every notation."""

import asyncio
import http.server
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.tools.network_access import MAX_REFUSED, NetworkAccess
from core.workspace.egress_proxy import ConnectionAttempt, EgressProxy
from core.workspace.launcher import CommandLimits, CommandRequest, SandboxPermissions
from core.workspace.outbound_hosts import allowed_addresses, is_public, normalized_host
from core.workspace.running_command import FinishedCommand
from core.workspace.sandbox import Sandbox
from core.workspace.scratch_folder import YOUNG_S
from tests.core.workspace.commands import await_, open_sandbox
from tests.core.workspace.ground import names

INWARD = [
    *("127.0.0.1", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "[::1]", "::1", "0.0.0.0", "0", "localhost"),
    *("[::ffff:127.0.0.1]", "::ffff:7f00:1", "[64:ff9b::7f00:1]", "2002:7f00:1::", "169.254.169.254", "10.0.0.1"),
    *(
        "192.168.1.1",
        "172.16.0.9",
        "100.64.0.1",
        "[fe80::1]",
        "fc00::1",
        "fec0::1",
        "224.0.0.1",
        "255.255.255.255",
        "ff02::1",
    ),
    *(
        "LOCALHOST.",
        "a.localhost",
        "printer.local",
        "metadata.google.internal",
        "127.0.0.1.",
        "\uff11\uff12\uff17.0.0.1",
    ),
    *(
        "[fe80::1%25eth0]",
        "127.0.0.1%00",
        "",
        "a b",
        "a\r\nb",
        "host/../x",
        "user@host",
        "0300.0250.1.1",
        "192.88.99.1",
    ),
    *("168.63.129.16", "::ffff:168.63.129.16", "192.0.0.192", "192.0.0.8", "[3fff::1]", "2001:1::1", "192.175.48.1"),
    *("[2a00:1450:4001::5efe:7f00:1]", "[2a00:1450:4001:0:200:5efe:a9fe:a9fe]"),
]


@pytest.mark.parametrize("host", INWARD)
def test_no_notation_reaches_a_private_address(host: str) -> None:
    """The thirteen known notations and more, without asking a resolver."""
    with pytest.raises(Problem, match="cannot be reached"):
        await_(allowed_addresses(host))


def answers(*found: str) -> "object":
    async def resolve(name: str) -> tuple[str, ...]:
        return found

    return resolve


@pytest.mark.parametrize("found", [("10.1.1.1",), ("93.184.216.34", "127.0.0.1"), ("::ffff:10.0.0.1",), ()])
def test_a_name_that_resolves_to_a_private_address(found: tuple[str, ...]) -> None:
    """DNS rebinding, and one private address among public ones."""
    with pytest.raises(Problem):
        await_(allowed_addresses("example.org", answers(*found)))  # type: ignore[arg-type]  # a resolver that knows it all


def test_a_public_host() -> None:
    told = answers("93.184.216.34", "2606:2800:220:1::1")
    assert await_(allowed_addresses("Example.ORG.", told)) == ("93.184.216.34", "2606:2800:220:1::1")  # type: ignore[arg-type]  # as above
    assert await_(allowed_addresses("93.184.216.34")) == ("93.184.216.34",)
    assert normalized_host("B\u00fccher.example") == "xn--bcher-kva.example" and is_public("8.8.8.8")


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"page {self.path}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox("bubblewrap") as made:
        yield made


def through(sandbox: Sandbox, command: str, folder: Path, port: int) -> tuple[FinishedCommand, list[ConnectionAttempt]]:
    """Run a command with allowed hosts, whose names resolve to the server of the test."""
    knocks: list[ConnectionAttempt] = []

    async def known(name: str) -> tuple[str, ...]:
        if name == "inward.test":
            return await allowed_addresses("127.0.0.1")
        return ("127.0.0.1",)

    async def go() -> FinishedCommand:
        async with EgressProxy([("allowed.test", port), ("inward.test", port)], knocks.append, known) as proxy:
            asked = CommandRequest(command, folder, CommandLimits(time_s=20), SandboxPermissions(proxy=proxy.path))
            return await sandbox.run(asked)

    return await_(go()), knocks


def test_an_allowed_host(sandbox: Sandbox, tmp_path: Path, port: int) -> None:
    done, knocks = through(sandbox, f"curl -sS http://allowed.test:{port}/a?b=c", tmp_path, port)
    assert done.output == "page /a?b=c", done
    assert knocks == [ConnectionAttempt("allowed.test", port, "allowed")]
    done, _ = through(sandbox, f"curl -sSp http://allowed.test:{port}/tunnel; exit 3", tmp_path, port)
    assert (done.output, done.exit_code) == ("page /tunnel", 3)


@pytest.mark.parametrize(
    "way",
    [
        *(
            "http://other.test:{port}/?secret",
            "-p http://other.test:{port}/",
            "http://allowed.test:1/",
            "http://[::1]:{port}/",
        ),
        *(
            "http://169.254.169.254/latest/",
            "http://inward.test:{port}/",
            "--proxy http://127.0.0.1:3128 http://0x7f000001:{port}/",
        ),
    ],
)
def test_other_hosts_are_refused_and_reported(way: str, sandbox: Sandbox, tmp_path: Path, port: int) -> None:
    done, knocks = through(sandbox, f"curl -sS -m 5 --noproxy '' {way.format(port=port)}", tmp_path, port)
    assert "page" not in done.output
    assert [knock.result for knock in knocks] == ["refused"], knocks


def test_nothing_goes_past_the_proxy(sandbox: Sandbox, tmp_path: Path, port: int) -> None:
    """Neither directly nor through a DNS query."""
    command = f"curl -sS -m 3 --noproxy '*' http://127.0.0.1:{port}/; getent hosts canary.example.org; echo end"
    done, knocks = through(sandbox, command, tmp_path, port)
    assert "page" not in done.output and done.output.endswith("end\n") and knocks == []


@pytest.mark.parametrize(
    "head", [b"GARBAGE\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"x" * 100_000, b"CONNECT a:b HTTP/1.1\r\n\r\n"]
)
def test_invalid_requests(head: bytes, tmp_path: Path) -> None:
    knocks: list[ConnectionAttempt] = []

    async def go() -> bytes:
        async with EgressProxy([], knocks.append) as proxy:
            reader, writer = await asyncio.open_unix_connection(proxy.path)
            writer.write(head)
            answer = await reader.read()
            writer.close()
            return answer

    assert await_(go()) == b"" and knocks == []


def test_open_connections_end_with_the_run() -> None:
    """Connections are closed or reset, depending on the moment; they never hang."""

    async def go() -> bytes:
        async with EgressProxy([], lambda knock: None) as proxy:
            reader, writer = await asyncio.open_unix_connection(proxy.path)
            writer.write(b"GET")
            await writer.drain()
        try:
            async with asyncio.timeout(10):
                return await reader.read()
        except ConnectionResetError:
            return b""
        finally:
            writer.close()

    assert [await_(go()) for _ in range(20)] == [b""] * 20


def test_refused_hosts_are_remembered_up_to_a_limit() -> None:
    """A command can try any number of hosts, with names of any length."""

    async def main() -> None:
        access = NetworkAccess()
        access.allow("allowed.example")
        permit = await access.permission()
        try:
            for number in range(3 * MAX_REFUSED):
                reader, writer = await asyncio.open_unix_connection(permit.proxy)
                writer.write(f"CONNECT h{number}.{'x' * 5000}:443 HTTP/1.1\r\n\r\n".encode())
                await reader.read()
                writer.close()
        finally:
            await access.close()
        refused = access.take_refused()
        assert len(refused) == MAX_REFUSED + 1 and refused[-1] == f"{2 * MAX_REFUSED} more attempts"
        assert sum(map(len, refused)) < 300 * MAX_REFUSED and access.take_refused() == ()

    await_(main())


def test_the_folder_of_a_killed_proxy_is_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    code = (
        "import asyncio, os, signal\nfrom core.workspace.egress_proxy import EgressProxy\n"
        "async def main():\n async with EgressProxy((), print) as proxy:\n  assert proxy.path.is_socket()\n"
        "  os.kill(os.getpid(), signal.SIGKILL)\nasyncio.run(main())"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    (left,) = tmp_path.iterdir()
    then = left.stat().st_mtime - 2 * YOUNG_S
    os.utime(left, (then, then))

    async def main() -> tuple[str, list[str]]:
        async with EgressProxy((), lambda attempt: None) as proxy:
            return proxy.path.parent.name, names(tmp_path)

    name, found = await_(main())
    assert found == [name] and left.name != name
    assert list(tmp_path.iterdir()) == []
