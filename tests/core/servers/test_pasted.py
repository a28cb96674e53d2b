"""Tool servers as other apps write them down."""

import pytest

from core.domain.problems import Problem
from core.servers.pasted import plain_name, read_servers
from core.settings.schema import Given, ToolServer

OTHERS = """{"mcpServers": {
  "My Files": {"command": "npx", "args": ["-y", "files", "${HOME}/notes"], "env": {"LEVEL": "1", "TOKEN": "${TOKEN}"}},
  "far": {"type": "http", "url": "https://a.example/mcp",
    "headers": {"Authorization": "Bearer ${env:A}", "X-Key": "k"}},
  "asks": {"command": "b", "env": {"KEY": "${input:key}"}}
}}"""


def test_values_that_stand_in_it_go_to_the_keyring_and_names_of_variables_stay() -> None:
    files, far, asks = read_servers(OTHERS)
    assert files.server == ToolServer(
        name="my-files", command="npx", args=("-y", "files", "${HOME}/notes"),
        given=(Given(name="LEVEL"), Given(name="TOKEN", value="${TOKEN}")),
    )  # fmt: skip
    assert files.keys == {"LEVEL": "1"} and "1" not in repr(files)
    assert far.server.url == "https://a.example/mcp" and far.keys == {"X-Key": "k"}
    assert far.server.given[0] == Given(name="Authorization", value="Bearer ${A}")
    assert asks.needs == ("KEY",) and asks.keys == {}


@pytest.mark.parametrize(
    "text",
    ['{"servers": {"a": {"command": "b"}}}', '{"a": {"command": "b"}}', '{"command": "b", "name": "a"}'],
)
def test_its_relatives_are_read_too(text: str) -> None:
    assert [one.server.name for one in read_servers(text)] == ["a"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("nothing", "This is no JSON"),
        ("[]", "no tool servers"),
        ("{}", "no tool servers"),
        ('{"a": 1}', "no tool servers"),
        ('{"mcpServers": {"a": {}}}', "neither a command nor an address"),
        ('{"a": {"command": "b", "url": "https://a.example"}}', "neither a command nor an address"),
        ('{"a": {"url": "https://a.example/sse", "type": "sse"}}', "given up"),
        ("[" * 100_000, "This is no JSON"),
    ],
)
def test_what_describes_none_is_said_to(text: str, what: str) -> None:
    with pytest.raises(Problem, match=what):
        read_servers(text)


def test_a_name_of_ours_is_made_of_any_title() -> None:
    assert plain_name("GitHub (Work)") == "github-work" and plain_name("日本") == "server"
    assert len(plain_name("x" * 99)) == 24 and not plain_name("a" * 23 + "-b").endswith("-")
