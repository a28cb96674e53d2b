"""A package with one part of each kind, as a folder and as a git repository."""

import json
import subprocess
import sys
from pathlib import Path

SKILL = "---\nname: careful-review\ndescription: Reviews a change. Use it before a commit.\n---\nRead every line.\n"
GUARD = '#!/bin/sh\necho "not in this project"\nexit 2\n'
HOOKS = '[[hook]]\non = "before_call"\ntools = ["write"]\ncommand = "\\"$PACKAGE_ROOT\\"/guard.sh"\n'
SERVER = Path(__file__).parents[2] / "servers" / "tools.py"


def make_package(root: Path) -> Path:
    """Write the package into a folder and return it."""
    for name in (".claude-plugin", "skills/careful-review", "commands", "agents"):
        (root / name).mkdir(parents=True, exist_ok=True)
    manifest = {"name": "Review helpers", "version": "1.2", "description": "Helps with reviews."}
    (root / ".claude-plugin" / "plugin.json").write_text(json.dumps(manifest), "utf-8")
    (root / "skills" / "careful-review" / "SKILL.md").write_text(SKILL, "utf-8")
    (root / "commands" / "summarize.md").write_text("---\ndescription: Summarizes\n---\nSummarize $ARGUMENTS.", "utf-8")
    (root / "commands" / "status.md").write_text("Here is the state: !`git status`", "utf-8")
    (root / "agents" / "reviewer.md").write_text("You review.", "utf-8")
    (root / "hooks.toml").write_text(HOOKS, "utf-8")
    (root / "guard.sh").write_text(GUARD, "utf-8")
    (root / "guard.sh").chmod(0o755)
    (root / "serve.py").write_bytes(SERVER.read_bytes())
    servers = {"box": {"command": sys.executable, "args": ["${CLAUDE_PLUGIN_ROOT}/serve.py"]}}
    (root / ".mcp.json").write_text(json.dumps({"mcpServers": servers}), "utf-8")
    return root


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit_all(folder: Path) -> str:
    """Commit everything in a folder, making it a repository, and return the commit."""
    if not (folder / ".git").exists():
        git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "a change")
    return git(folder, "rev-parse", "HEAD")
