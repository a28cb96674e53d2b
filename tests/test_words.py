"""README and help: links lead somewhere, commands exist, words are spelled, and a newcomer finds what matters."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from app.arguments import UsageError, parser
from ui.help_dialog import pages

ROOT = Path(__file__).resolve().parent.parent
HELP = pages()
PAGES = (ROOT / "README.md", ROOT / "CHANGELOG.md", *HELP)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
WORD = re.compile(r"`(journeyman(?: [^`]+)?)`")
# Names of things, which no dictionary knows.
NAMES = re.findall(
    r"\S+",
    """
    ACP AGENTS ALMA ALMA's Anthropic API artifacts ATIF Brave bubblewrap Changelog CLI Codex coroutine cpp CSV
    Ctrl dataclass Debian DeepSeek Esc fallbacks façade Gemini Git GitHub glibc GNU Groq handoff HTML
    initialiser Inno Jaeger JSON keyring Landlock Langfuse LGPL linter LM localhost macOS Markdown MCP md Ollama
    OpenAI OpenCode OpenHands OpenRouter OpenTelemetry OTLP PDF Perfetto PgDown PgUp pipx Qt README recency
    ripgrep SearXNG SQLite SWE swe Tavily todo TOML Ubuntu URL UTF validator vLLM worktree worktrees
    json mcp mcpServers submodules bge MiniLM minilm numpy
    FTS compactions cpu httpx landlock mb rss sqlite th
    """,
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text("utf-8")):
        if target.startswith("https://"):
            continue
        assert not re.match(r"\w+:", target), f"{page.name}: {target} is no link of ours"
        assert (page.parent / target.partition("#")[0]).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_is_named_can_be_typed(page: Path) -> None:
    """As it stands there, with words in capitals for what a person fills in; each part of `a|b|c` by itself."""
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
    for given in (words, [*words, "A"], [*words, "A", "B"]):  # a page may leave out what comes last
        try:
            parser().parse_args(given)
        except SystemExit:
            return  # --help, --version
        except UsageError as error:
            fault = error
        else:
            return
    if "argument ACTION" in str(fault) and "'A'" in str(fault):
        return  # the name of a group
    raise AssertionError(f"{page.name}: journeyman {' '.join(words)}: {fault}")


@pytest.mark.skipif(shutil.which("aspell") is None, reason="`apt install aspell aspell-en` lets this be checked")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_words_are_spelled(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`]*`|\*\*[^*]*\*\*|\]\([^)]*\)|https?://\S+", " ", page.read_text("utf-8"), flags=re.S)
    words = ["aspell", "list", "--lang=en_GB", "--encoding=utf-8"]
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=True)
    assert sorted(set(done.stdout.split()) - set(NAMES)) == []


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("how do I undo", (r"# Undo", r"Rewind|back to how they were", r"trash")),
        ("where are my data", (r"journeyman\.db", r"~/\.local/share/journeyman", r"--home")),
        ("what leaves my machine", (r"What leaves this computer", r"model server", r"no telemetry")),
        ("it crashed", (r"--safe", r"crash\.log")),
    ],
)
def test_a_newcomer_finds(question: str, answers: tuple[str, ...]) -> None:
    """In the help alone."""
    whole = "\n".join(page.read_text("utf-8") for page in HELP)
    assert [answer for answer in answers if not re.search(answer, whole)] == [], question
