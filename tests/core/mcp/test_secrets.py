"""Secrets passed to an MCP server must not appear in its error messages."""

import asyncio
import sys
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.mcp.connection import McpConnection
from core.mcp.server_config import ResolvedMcpServer
from core.settings.schema import McpServerSettings

KEY, GIVEN = "sk-live-" + "Qw7Zx9Lm2Vb5Nc8Kd1Hg4Jf6", "my own word"
DIES = "import os, sys; sys.exit('key=' + sys.argv[1] + ' word=' + os.environ['WORD'])"
REFUSES = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    error = {"code": -32000, "message": "no " + sys.argv[1] + " or " + os.environ["WORD"]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "error": error}), flush=True)
"""


@pytest.mark.parametrize("program", [DIES, REFUSES])
def test_neither_stderr_nor_an_error_of_the_server_shows_a_secret(program: str, tmp_path: Path) -> None:
    server = McpServerSettings(name="box", command=sys.executable, args=("-c", program, KEY))
    with pytest.raises(Problem) as raised:
        asyncio.run(McpConnection(ResolvedMcpServer(server, {"WORD": GIVEN}), tmp_path / "box.log").start())
    why = raised.value.details.cause
    assert KEY not in why and "Qw7Zx" not in why and GIVEN not in why
    assert "[API key removed]" in why and "[known secret removed]" in why
