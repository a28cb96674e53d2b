"""On a computer with several users, what an agent reads does not go to a program of another one by accident."""

import asyncio
import os
import subprocess
from collections.abc import Iterator

import pytest

from core.domain.problems import Problem
from core.models.endpoint import ProviderEndpoint
from core.models.errors import ErrorContext
from core.models.http import ModelHttpClient
from core.models.mask import KeyMask

OTHER_PERSON = 54_321
LISTEN = (
    "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); "
    "c = s.accept()[0]; c.recv(999); c.send(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok')"
)


@pytest.fixture
def port() -> Iterator[int]:
    command = ["python3", "-c", LISTEN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, user=OTHER_PERSON, group=OTHER_PERSON) as program:
        assert program.stdout
        yield int(program.stdout.readline())
        program.kill()


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can start programs of others")
@pytest.mark.parametrize("chosen", [False, True])
def test_a_server_of_another_user_receives_requests_only_if_the_user_chose_its_address(port: int, chosen: bool) -> None:
    server = ProviderEndpoint(f"http://127.0.0.1:{port}", only_own=not chosen)

    async def main() -> bytes:
        error_context = ErrorContext(server.origin, "", KeyMask(""))
        async with ModelHttpClient(server).request(server.url("/"), error_context, {}) as answer:
            return await answer.read_body()

    if chosen:
        assert asyncio.run(main()) == b"ok"
    else:
        with pytest.raises(Problem, match="Another user of this computer listens"):
            asyncio.run(main())
