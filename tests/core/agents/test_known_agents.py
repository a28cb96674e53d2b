"""The known external agents: complete entries, found only by their programs on the PATH."""

from pathlib import Path

import pytest

from core.agents.agent_pool import agent_from_command
from core.agents.known_agents import is_installed, known_agents


def test_each_known_agent_has_a_command_and_a_way_to_install_it() -> None:
    agents = known_agents()
    names = [agent.settings.name for agent in agents]
    assert names == sorted(set(names)) and {"codex", "gemini", "goose", "kimi", "opencode", "pi", "qwen"} <= set(names)
    for agent in agents:
        assert agent.title and " install " in agent.install
        assert agent_from_command(" ".join(agent.settings.argv())).argv() == agent.settings.argv()


def test_an_agent_is_found_by_its_program_without_starting_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not any(is_installed(agent.settings) for agent in known_agents())
    program = tmp_path / "qwen"
    program.write_text("#!/bin/sh\ntouch started\n", "utf-8")
    program.chmod(0o755)
    assert [agent.settings.name for agent in known_agents() if is_installed(agent.settings)] == ["qwen"]
    assert not (tmp_path / "started").exists()
