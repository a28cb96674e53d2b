"""Tests of the `mcp` command."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.main import main
from app.process.exit_codes import DONE, FAILED, USAGE
from core.mcp.connection import MAX_LOG_BYTES

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests" / "servers" / "tools.py"
DEMO = """
import sys
from app.main import main
import core.mcp.connection
main(["--data-dir", sys.argv[1], "demo", "--no-questions"])
sys.stderr.write(str(sorted({"mcp", "mcp_types", "httpx2", "starlette"} & sys.modules.keys())))
"""


NOISY = r"""
import json, sys
sys.stdout.buffer.write(b"Starting \xff\n{no\n[1]\n")
sys.stdout.flush()
sys.stderr.write(("x" * 999 + "\n") * 5_000 + "ready\n")
sys.stderr.flush()
tools = json.loads(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    version = asked.get("params", {}).get("protocolVersion", "")
    begun = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "n", "version": "1"}}
    told = {"initialize": {"result": begun}, "tools/list": {"result": {"tools": tools}}}
    other = {"error": {"code": -32601, "message": "no such method"}}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told.get(asked["method"], other)}), flush=True)
"""


def tool(name: object, description: object = "Says it.", **schema: object) -> dict[str, object]:
    return {"name": name, "description": description, "inputSchema": {"type": "object", **schema}}


def run_mcp_command(home: Path, *words: str) -> int:
    return main(["--data-dir", str(home), "mcp", *words])


def test_a_server_is_added_listed_tested_accepted_and_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, mark = tmp_path / "home", tmp_path / "mark"
    assert run_mcp_command(home, "list") == DONE and "No MCP servers" in capsys.readouterr().out
    assert run_mcp_command(home, "add", "box", sys.executable, str(PROGRAM), str(mark)) == DONE
    said = capsys.readouterr().out
    assert "box: 6 tools" in said and "box__add  Adds two numbers." in said and "not offered" in said
    assert run_mcp_command(home, "test", "box") == DONE and "as you accepted them" in capsys.readouterr().out
    mark.write_text("Adds and tells.", "utf-8")
    assert run_mcp_command(home, "test", "box") == DONE
    said = capsys.readouterr().out
    assert "Changed: add" in said and "-Adds two numbers." in said and "+Adds and tells." in said
    assert run_mcp_command(home, "accept", "box") == DONE
    assert run_mcp_command(home, "disable", "box", "die") == DONE
    capsys.readouterr()
    assert run_mcp_command(home, "list", "--json") == DONE
    kept = {tool["name"]: tool for tool in json.loads(capsys.readouterr().out)["tools"]}
    assert kept["add"]["description"] == "Adds and tells." and not kept["die"]["enabled"] and kept["add"]["enabled"]
    main(["--data-dir", str(home), "doctor"])
    assert "MCP server box: 6 tools" in capsys.readouterr().out
    assert run_mcp_command(home, "remove", "box") == DONE
    assert run_mcp_command(home, "test", "box") == FAILED and "There is no MCP server" in capsys.readouterr().err


def test_options_after_a_url_are_refused_instead_of_ignored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_mcp_command(tmp_path, "add", "far", "https://mcp.example.org", "--key", "Authorization") == USAGE
    assert "Put options before the name" in capsys.readouterr().err
    assert run_mcp_command(tmp_path, "list") == DONE and "No MCP servers" in capsys.readouterr().out


def test_the_mcp_library_is_loaded_only_if_a_server_is_configured(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DEMO, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stderr.endswith("[]"), done.stderr


def test_other_output_of_a_server_goes_to_its_bounded_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_mcp_command(tmp_path, "add", "noisy", sys.executable, "-c", NOISY, json.dumps([tool("echo\n")])) == DONE
    said = capfd.readouterr()
    assert "noisy: 1 tool," in said.out and said.err == "" and "noisy__echo⟦U+000A⟧  (not offered" in said.out
    log = tmp_path / "servers" / "noisy.test.log"
    assert log.stat().st_size < MAX_LOG_BYTES
    assert "ready" in log.read_text("utf-8")


def test_a_protocol_violation_is_reported_with_its_location(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_mcp_command(tmp_path, "add", "noisy", sys.executable, "-c", NOISY, "7") == FAILED
    assert "It violates the protocol at tools:" in capfd.readouterr().err


def test_an_invalid_tool_does_not_affect_the_others(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bare: dict[str, object] = {"name": "bare"}
    tools = [tool("bad", properties=7), tool("good"), 7, tool(5), bare, {**bare, "name": "free", "inputSchema": {}}]
    assert run_mcp_command(tmp_path, "add", "box", sys.executable, "-c", NOISY, json.dumps(tools)) == DONE
    said = capfd.readouterr().out
    unlike = "(not offered: its schema violates the protocol)"
    assert f"box__bad  {unlike}  Says it." in said and f"box__bare  {unlike}" in said
    assert "box__good  Says it." in said and "box__free  \n" in said and "'' is not a valid name" in said
    assert run_mcp_command(tmp_path, "test", "box") == DONE and "as you accepted them" in capfd.readouterr().out


def test_the_first_of_two_tools_with_one_name_is_offered_and_the_second_is_reported(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tools = json.dumps([tool("send", "Sends a letter."), tool("send", "Sends everything."), tool("send")])
    assert run_mcp_command(tmp_path, "add", "box", sys.executable, "-c", NOISY, tools) == DONE
    said = capfd.readouterr().out
    assert "box__send  Sends a letter." in said
    assert "box__send (again)  (not offered: another tool of this server has the same name)  Sends everything." in said


def test_a_name_is_not_given_to_another_server_and_its_rules_end_with_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    tools = json.dumps([tool("send")])
    assert run_mcp_command(home, "add", "box", sys.executable, "-c", NOISY, tools) == DONE
    assert "unless a saved rule allows it" in capfd.readouterr().out
    main(["--data-dir", str(home), "rules", "add", "allow", "box__send"])
    main(["--data-dir", str(home), "rules", "add", "deny", "box__send"])
    assert run_mcp_command(home, "add", "box", sys.executable, "-c", NOISY, tools, "evil") == FAILED
    error = capfd.readouterr().err
    assert "There is already an MCP server 'box'" in error and "journeyman mcp remove box" in error
    definitions = {name: {"command": sys.executable, "args": ["-c", NOISY, tools, "evil"]} for name in ("box", "other")}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": definitions}), "utf-8")
    assert run_mcp_command(home, "import", str(tmp_path / "mcp.json")) == FAILED
    said = capfd.readouterr()
    assert "There is already an MCP server 'box'" in said.err and "Added other." in said.out
    assert run_mcp_command(home, "add", "box", sys.executable, "-c", NOISY, tools) == DONE, "the same server again"
    main(["--data-dir", str(home), "rules", "--json"])
    assert "allow" in capfd.readouterr().out
    assert run_mcp_command(home, "remove", "box") == DONE
    capfd.readouterr()
    main(["--data-dir", str(home), "rules", "--json"])
    left = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [(row["effect"], row["tool"]) for row in left] == [("deny", "box__send")]
