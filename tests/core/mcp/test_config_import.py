"""Tests of importing MCP server configurations of other apps."""

import json

import pytest

from core.domain.problems import Problem
from core.mcp.config_import import parse_servers, server_from_input, to_server_name
from core.mcp.server_config import environment_variables
from core.settings.schema import McpServerSettings, McpVariable

OTHERS = """{"mcpServers": {
  "My Files": {"command": "npx", "args": ["-y", "files", "${HOME}/notes"], "env": {"LEVEL": "1", "TOKEN": "${TOKEN}"}},
  "far": {"type": "http", "url": "https://a.example/mcp",
    "headers": {"Authorization": "Bearer ${env:A}", "X-Key": "k"}},
  "asks": {"command": "b", "env": {"KEY": "${input:key}"}}
}}"""


def test_literal_values_go_to_the_keyring_and_variable_names_stay() -> None:
    files, far, asks = parse_servers(OTHERS)
    assert files.server == McpServerSettings(
        name="my-files", command="npx", args=("-y", "files", "${HOME}/notes"),
        variables=(McpVariable(name="LEVEL"), McpVariable(name="TOKEN", value="${TOKEN}")),
    )  # fmt: skip
    assert files.secrets == {"LEVEL": "1"} and "1" not in repr(files)
    assert far.server.url == "https://a.example/mcp" and far.secrets == {"X-Key": "k"}
    assert far.server.variables[0] == McpVariable(name="Authorization") and far.missing_secrets == ("Authorization",)
    assert asks.missing_secrets == ("KEY",) and asks.secrets == {}


def test_a_file_cannot_choose_which_variables_a_server_receives() -> None:
    for url in ("https://a.example/${AWS_SECRET_ACCESS_KEY}", "https://${env:A}.example/", "https://a/${X:-none}"):
        with pytest.raises(Problem, match="URL contains a variable"):
            parse_servers(json.dumps({"mcpServers": {"docs": {"url": url}}}))
    text = json.dumps({"mcpServers": {"docs": {"url": "https://a.example/", "headers": {"X-Client": "v1 ${KEY}"}}}})
    (server,) = parse_servers(text)
    assert server.server.variables == (McpVariable(name="X-Client"),) and server.missing_secrets == ("X-Client",)
    own = server_from_input("docs", "https://a.example/", "X-Client=v1 ${KEY}\nB=moss")
    assert own.server.variables == (McpVariable(name="X-Client", value="v1 ${KEY}"), McpVariable(name="B"))
    assert own.missing_secrets == () and own.secrets == {"B": "moss"}


@pytest.mark.parametrize(
    "text",
    ['{"servers": {"a": {"command": "b"}}}', '{"a": {"command": "b"}}', '{"command": "b", "name": "a"}'],
)
def test_related_formats_are_read_too(text: str) -> None:
    assert [one.server.name for one in parse_servers(text)] == ["a"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("nothing", "This is not valid JSON"),
        ("[]", "not describe any MCP servers"),
        ("{}", "not describe any MCP servers"),
        ('{"a": 1}', "not describe any MCP servers"),
        ('{"mcpServers": {"a": {}}}', "either a command or a URL"),
        ('{"a": {"command": "b", "url": "https://a.example"}}', "either a command or a URL"),
        ('{"a": {"url": "https://a.example/sse", "type": "sse"}}', "deprecated"),
        ("[" * 100_000, "This is not valid JSON"),
    ],
)
def test_json_without_servers_is_reported(text: str, what: str) -> None:
    with pytest.raises(Problem, match=what):
        parse_servers(text)


def test_any_title_gives_a_valid_name() -> None:
    assert to_server_name("GitHub (Work)") == "github-work" and to_server_name("日本") == "server"
    assert len(to_server_name("x" * 99)) == 24 and not to_server_name("a" * 23 + "-b").endswith("-")


def test_a_file_cannot_choose_which_program_receives_an_api_key() -> None:
    text = '{"a": {"command": "b", "env": {"KEY": "${env:OPENAI_API_KEY}", "OWN": "x${brave_api_key:-}", "N": "${N}"}}}'
    (server,) = parse_servers(text)
    assert server.missing_secrets == ("KEY", "OWN")
    assert server.server.variables[2] == McpVariable(name="N", value="${N}")
    assert environment_variables(server.server) == ("N",)
    with pytest.raises(Problem, match="cannot be added"):
        parse_servers('{"a": {"command": "b", "args": ["--key=${ANTHROPIC_API_KEY}"]}}')
    with pytest.raises(Problem, match="cannot be added"):
        parse_servers('{"a": {"command": "b", "args": ["--key=${ANTHROPIC_API_KEY}", "${input:name}"]}}')
    typed = server_from_input("a", "b --url ${HOST}", "KEY=${OPENAI_API_KEY}")
    assert environment_variables(typed.server) == ("HOST", "OPENAI_API_KEY")
