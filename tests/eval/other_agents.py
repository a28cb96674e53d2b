"""Other agents that do the same tasks with the same model: mini-swe-agent, OpenCode, Codex and Goose."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.servers.aimock import NODE, NPM
from tests.servers.real import KEPT, environment, run_step

MINI = "mini-swe-agent==2.4.6"  # its litellm imports mcp without requiring it
GOOSE = "goose-binary-linux-x64"
NPM_AGENTS = {
    "opencode": "opencode-ai@1.18.33",
    "codex": "@openai/codex@0.169.0",
    GOOSE: f"@aaif/{GOOSE}@1.52.0",
}
WINDOW = 32_768


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """A program to run in the task's folder. `reply` returns its last words, given what it printed."""

    words: list[str]
    env: Mapping[str, str]
    reply: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class AgentRun:
    """How a program ended. `reason` is empty if it reported success."""

    reply: str
    reason: str = ""


def run_agent(command: AgentCommand, folder: Path, limit_s: float) -> AgentRun:
    """Run an agent to its end or to the limit; its processes are ended with it."""
    env = {"PATH": f"{NODE.parent}{os.pathsep}{os.environ['PATH']}", "LANG": "C.UTF-8", "TERM": "dumb", **command.env}
    with subprocess.Popen(
        command.words,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit_s)
            reason = "" if process.returncode == 0 else f"exit code {process.returncode}"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            reason = f"not done after {limit_s:.0f} s"
    text = output.decode("utf-8", "replace")
    return AgentRun(command.reply(text) or text[-2_000:], reason)


def mini(url: str, model: str, prompt: str, home: Path) -> AgentCommand:
    """Return the command of mini-swe-agent in its set-up for models without tool calls.

    Its prompts ask for commands in code blocks, which only the model class of that name reads.
    """
    trajectory = home / "trajectory.json"
    words = [str(environment("mini", MINI, "mcp") / "mini"), "--yolo", "--exit-immediately", "--cost-limit", "0"]
    words += ["--model", f"openai/{model}", "--task", prompt, "--output", str(trajectory)]
    words += ["--model-class", "litellm_textbased", "--config", "mini_textbased.yaml"]
    words += ["--config", "agent.step_limit=40"]
    env = {"HOME": str(home), "MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors"}
    env |= {"MSWEA_GLOBAL_CONFIG_DIR": str(home), "OPENAI_API_BASE": f"{url}/v1", "OPENAI_API_KEY": "none"}

    def reply(_: str) -> str:
        try:
            messages = json.loads(trajectory.read_text("utf-8"))["messages"]
        except (OSError, ValueError, KeyError):
            return ""
        return "\n".join(str(message.get("content", "")) for message in messages[-3:])

    return AgentCommand(words, env, reply)


def opencode(url: str, model: str, prompt: str, home: Path) -> AgentCommand:
    """Return the command of OpenCode with all permissions."""
    limits = {"context": WINDOW, "output": 4_096}
    options = {"baseURL": f"{url}/v1", "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "Local", "options": options}
    config = home / "opencode.json"
    config.write_text(
        json.dumps(
            {
                "provider": {"local": {**provider, "models": {"model": {"id": model, "limit": limits}}}},
                "model": "local/model",
                "small_model": "local/model",
                "permission": {"bash": "allow", "edit": "allow", "webfetch": "deny"},
                "autoupdate": False,
                "share": "disabled",
            }
        ),
        "utf-8",
    )
    env = {"HOME": str(home), "OPENCODE_CONFIG": str(config), "OPENCODE_DISABLE_AUTOUPDATE": "1"}
    env |= {f"XDG_{name}_HOME": str(home / name) for name in ("DATA", "CONFIG", "CACHE", "STATE")}
    env |= {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
    return AgentCommand([str(_npm_program("opencode")), "run", prompt], env, lambda printed: printed[-4_000:])


def codex(url: str, model: str, prompt: str, home: Path) -> AgentCommand:
    """Return the command of Codex, which works without its sandbox so that nothing is refused."""
    (home / "config.toml").write_text(
        f'model = "{model}"\nmodel_provider = "local"\nmodel_context_window = {WINDOW}\n'
        f'[model_providers.local]\nname = "Local"\nbase_url = "{url}/v1"\nwire_api = "responses"\n',
        "utf-8",
    )
    last = home / "last.txt"
    words = [str(_npm_program("codex")), "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    words += ["--output-last-message", str(last), prompt]
    env = {"HOME": str(home), "CODEX_HOME": str(home)}
    return AgentCommand(words, env, lambda _: last.read_text("utf-8") if last.is_file() else "")


def goose(url: str, model: str, prompt: str, home: Path) -> AgentCommand:
    """Return the command of Goose with its developer tools, which works without asking."""
    words = [str(_npm_program(GOOSE)), "run", "--no-session", "--no-profile", "--with-builtin", "developer", "--quiet"]
    words += ["--max-turns", "40", "--provider", "openai", "--model", model, "--text", prompt]
    env = {"HOME": str(home), "OPENAI_HOST": url, "OPENAI_API_KEY": "none", "GOOSE_CONTEXT_LIMIT": str(WINDOW)}
    env |= {"GOOSE_MODE": "auto", "GOOSE_DISABLE_KEYRING": "1", "GOOSE_TELEMETRY_ENABLED": "false"}
    return AgentCommand(words, env, lambda printed: printed[-4_000:])


OTHER_AGENTS: Mapping[str, Callable[[str, str, str, Path], AgentCommand]] = {
    "mini": mini,
    "opencode": opencode,
    "codex": codex,
    "goose": goose,
}


def _npm_program(name: str) -> Path:
    """Return an agent's program, installing it with npm if the folder is missing or incomplete."""
    folder = KEPT / "eval" / name
    whole = folder / "whole"
    if not whole.exists():
        words = ["install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel=error", NPM_AGENTS[name]]
        os.environ["PATH"] = f"{NODE.parent}{os.pathsep}{os.environ['PATH']}"
        run_step([str(NODE), str(NPM), *words])
        whole.touch()
    return folder / "node_modules" / ".bin" / name
