"""A local MCP server that writes an endless line: its connection ends with an error, and the memory stays flat."""

import subprocess
import sys
from pathlib import Path

import pytest

SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        version = asked["params"]["protocolVersion"]
        done = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}
    elif asked.get("method") == "tools/list":
        done = {"tools": [{"name": "talk", "inputSchema": {"type": "object"}}]}
    elif asked.get("method") == "tools/call":
        for _ in range(int(sys.argv[1])):
            sys.stdout.write("x" * 1_000_000)
        done = {"content": [{"type": "text", "text": "y" * int(sys.argv[2])}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": done}), flush=True)
"""

CLIENT = """
import asyncio, resource, sys
from pathlib import Path
from core.domain.problems import Problem
from core.mcp.connection import McpConnection
from core.mcp.server_config import ResolvedMcpServer
from core.settings.schema import McpServerSettings

async def progress(*_):
    pass

async def main():
    server = McpServerSettings(name="talker", command=sys.executable, args=(sys.argv[1], *sys.argv[3:]))
    connection = McpConnection(ResolvedMcpServer(server, {}), Path(sys.argv[2]) / "log")
    await connection.start()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        print(len((await connection.call_tool("talk", {}, progress)).text))
    except Problem as problem:
        print(problem)
    print(connection.is_open, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
    await connection.close()

asyncio.run(main())
"""


def called(folder: Path, megabytes: int, text: int) -> list[str]:
    """Call the tool of a server that first writes so much without an end of line, then an answer with so much text."""
    (folder / "server.py").write_text(SERVER)
    command = [sys.executable, "-c", CLIENT, str(folder / "server.py"), str(folder), str(megabytes), str(text)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[3], check=False
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.skipif(sys.platform == "win32", reason="measures the memory as Unix does")
def test_an_endless_line_ends_the_connection(tmp_path: Path) -> None:
    said, after = called(tmp_path, 600, 10)
    assert said.startswith("The MCP server talker ended during the call. It wrote a line longer than 16 MiB.")
    is_open, grown = after.split()
    assert is_open == "False" and int(grown) < 200, "the line was kept in memory"


@pytest.mark.skipif(sys.platform == "win32", reason="measures the memory as Unix does")
def test_a_long_answer_is_still_read(tmp_path: Path) -> None:
    said, after = called(tmp_path, 0, 8_000_000)
    assert int(said) > 10_000 and after.startswith("True")
