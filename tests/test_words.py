"""Checks of README, changelog and help: links, commands and spelling are right, and the essentials can be found."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from app.cli.arguments import parser
from app.cli.command_parser import UsageError
from ui.dialogs.help_dialog import help_files

ROOT = Path(__file__).resolve().parent.parent
HELP = help_files()
PAGES = (ROOT / "README.md", ROOT / "CHANGELOG.md", *HELP, *sorted((ROOT / "resources" / "docs").glob("*.md")))
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
WORD = re.compile(r"`(journeyman(?: [^`]+)?)`")
# Names and technical terms that are not in the dictionary.
NAMES = re.findall(
    r"\S+",
    """
    ACP AGENTS ai Aider ALMA ALMA's Anthropic API artifacts ATIF bge Brave bubblewrap Changelog changelog ChatGPT
    checkboxes CLI Cline Codex compactions Copilot coroutine cpp cpu CSV Ctrl dataclass Debian dialogs docstring Esc
    fallbacks façade Flatpak FTS Gemini GGUF Git Git's GitHub GitLab glibc gzip handoff Homebrew HTML httpx
    initializer IPv Jaeger JetBrains JSON json keyring Kimi Landlock landlock Langfuse LFS LGPL linter LLM LM
    localhost macOS Markdown mb MCP mcp mcpServers md MiniLM minilm MPNet mpnet numpy OAuth Ollama OpenAI OpenClaw
    OpenCode OpenHands OpenRouter OpenTelemetry OTLP Perfetto PgDown PgUp pipx PKCE pnpm Qt Qwen README rebase recency
    reflogs Roo rss Sandboxed sandboxed SearXNG severities SQLite sqlite subfolders submodules SWE swe Tavily th todo
    tokenizer TOML Tooltips Ubuntu unarchive Untrusted untrusted URL UTF uv validator vLLM worktree worktrees
    xllamacpp zstd
    """,
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_has_a_target(page: Path) -> None:
    for target in LINK.findall(page.read_text("utf-8")):
        if target.startswith("https://"):
            continue
        assert not re.match(r"\w+:", target), f"{page.name}: {target} is not a relative link"
        assert (page.parent / target.partition("#")[0]).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_is_valid(page: Path) -> None:
    """Words in capitals are placeholders; each alternative of `a|b|c` is checked by itself."""
    text = page.read_text("utf-8").replace("\n", " ")
    for line in WORD.findall(text):
        words = shlex.split(re.sub(r"[\[\]…]|\.\.\.", "", line))[1:]
        for number, word in enumerate(words):
            if "|" in word:
                for each in word.split("|"):
                    _typed([*words[:number], each, *words[number + 1 :]], page)
                break
        else:
            _typed(words, page)


def _typed(words: list[str], page: Path) -> None:
    words = ["1" if word in {"STEP", "N", "X", "OLD", "NEW"} else word for word in words]
    for given in (words, [*words, "A"], [*words, "A", "B"]):  # a page may omit the last arguments
        try:
            parser().parse_args(given)
        except SystemExit:
            return  # --help, --version
        except UsageError as error:
            fault = error
        else:
            return
    if "There is no command" in str(fault) and " A`" in str(fault):
        return  # the name of a group
    raise AssertionError(f"{page.name}: journeyman {' '.join(words)}: {fault}")


@pytest.mark.skipif(shutil.which("aspell") is None, reason="`apt install aspell aspell-en` lets this be checked")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_spelling(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`]*`|\*\*[^*]*\*\*|\]\([^)]*\)|https?://\S+", " ", page.read_text("utf-8"), flags=re.S)
    words = ["aspell", "list", "--lang=en_US", "--encoding=utf-8"]
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=True)
    assert sorted(set(done.stdout.split()) - set(NAMES)) == []


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("how do I undo", (r"# Undo", r"Revert files", r"Trash")),
        ("where is my data", (r"journeyman\.db", r"~/\.local/share/journeyman", r"--data-dir")),
        ("what leaves my machine", (r"What leaves this computer", r"model provider", r"no telemetry")),
        ("it crashed", (r"--safe", r"crash\.log")),
    ],
)
def test_the_help_answers(question: str, answers: tuple[str, ...]) -> None:
    whole = "\n".join(page.read_text("utf-8") for page in HELP)
    assert [answer for answer in answers if not re.search(answer, whole)] == [], question
