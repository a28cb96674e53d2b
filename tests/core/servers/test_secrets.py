"""What a tool server was given is not repeated in the words for its faults."""

import asyncio
import sys
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.servers.connection import Connection
from core.servers.opening import Opening
from core.settings.schema import ToolServer

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
def test_neither_its_last_words_nor_its_refusal_bring_a_secret_on_screen(program: str, tmp_path: Path) -> None:
    server = ToolServer(name="box", command=sys.executable, args=("-c", program, KEY))
    with pytest.raises(Problem) as raised:
        asyncio.run(Connection(Opening(server, {"WORD": GIVEN}), tmp_path / "box.log").start())
    why = raised.value.trouble.why
    assert KEY not in why and "Qw7Zx" not in why and GIVEN not in why
    assert "[API key removed]" in why and "[known secret removed]" in why
