"""Real external agents, installed once with npm: OpenCode and Codex, configured to use a local provider."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from core.settings.schema import ExternalAgentSettings
from tests.servers.aimock import NODE, NPM
from tests.servers.real import KEPT, run_step

PACKAGES = ("opencode-ai@1.18.33", "@zed-industries/codex-acp@0.16.0")
WRITE = "printf 'written by an agent' > made.txt"
ASKED = "write the file"


def programs() -> Path:
    """Return the folder of their programs, installing them if the folder is missing or incomplete."""
    folder = KEPT / "agents"
    whole = folder / "whole"
    if not whole.exists():
        words = ["install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel=error"]
        os.environ["PATH"] = f"{NODE.parent}{os.pathsep}{os.environ['PATH']}"
        run_step([str(NODE), str(NPM), *words, *PACKAGES])
        whole.touch()
    return folder / "node_modules" / ".bin"


def fixtures(tool: str, arguments: Mapping[str, object]) -> list[dict[str, object]]:
    """Return the replies of a model that runs one command and then reports that it is done."""
    call = {"id": "call_a", "name": tool, "arguments": json.dumps(arguments)}
    return [
        {"match": {"hasToolResult": True}, "response": {"content": "It is written."}},
        {"match": {"userMessage": ASKED}, "response": {"content": "I write it.", "toolCalls": [call]}},
        {"match": {}, "response": {"content": "A title"}},
    ]


def opencode(url: str, home: Path) -> tuple[ExternalAgentSettings, dict[str, str]]:
    """Return OpenCode and its environment, with its own home folder, asking before each command."""
    options = {"baseURL": f"{url}/v1", "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "Mock", "options": options, "models": {"gpt-4o": {}}}
    told = {"provider": {"mock": provider}, "model": "mock/gpt-4o", "small_model": "mock/gpt-4o",
            "permission": {"bash": "ask", "edit": "ask"}, "autoupdate": False, "share": "disabled"}  # fmt: skip
    config = home / "opencode.json"
    config.write_text(json.dumps(told), "utf-8")
    surroundings = {"HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "XDG_CONFIG_HOME": str(home / "config"),
                    "XDG_CACHE_HOME": str(home / "cache"), "XDG_STATE_HOME": str(home / "state"),
                    "OPENCODE_CONFIG": str(config), "OPENCODE_DISABLE_AUTOUPDATE": "1",
                    "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}  # fmt: skip
    return ExternalAgentSettings(name="opencode", command=str(programs() / "opencode"), args=("acp",)), surroundings


def codex(url: str, home: Path) -> tuple[ExternalAgentSettings, dict[str, str]]:
    """Return Codex and its environment, configured likewise."""
    (home / "config.toml").write_text(
        f'model = "gpt-4o"\nmodel_provider = "mock"\napproval_policy = "untrusted"\nsandbox_mode = "read-only"\n'
        f'[model_providers.mock]\nname = "Mock"\nbase_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "MOCK_KEY"\n',
        "utf-8",
    )
    surroundings = {"HOME": str(home), "CODEX_HOME": str(home), "MOCK_KEY": "none", "NO_BROWSER": "1"}
    return ExternalAgentSettings(name="codex", command=str(programs() / "codex-acp")), surroundings
