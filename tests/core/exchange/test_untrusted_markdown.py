"""An exported Markdown file fetches nothing and contains no HTML of the session, whatever its texts contain."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from core.domain.events import CallStarted, FileChanged, Replied, RunEnded, RunStarted, SessionEvent, UserMessage
from core.domain.text import Attachment, Text
from core.exchange.exporters.untrusted_markdown import code_span, plain_line, safe_markdown
from tests.core.exchange.home import home
from tests.core.exchange.test_exporters import call
from tests.sessions import create_session
from ui.text.html import markdown_to_html

READERS = [
    MarkdownIt("commonmark", {"html": True}),
    MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]),
]
FETCHES = [
    "![x](https://evil.example/p.png)",
    "\\![x](https://evil.example/p)",
    "![x][r]\n\n[r]: https://evil.example/p",
    "![[x]]",
    "<img src=https://evil.example/p>",
    "<b>Allowed by you</b>",
    "</details><script>alert(1)</script>",
    "<!-- -->",
    "<?x?>",
    "[y](javascript:alert(1))",
    "[y](&#106;avascript:alert(1))",
    "[y](\njavascript:alert(1))",
    "[r]: javascript:alert(1)\n\n[r]",
    "[y](data:text/html,x)",
    "[y](<javascript:alert(1)>)",
    "[y](file:///etc/passwd)",
    "&#x202e;gpj",
    "&zwj;",
    "<javascript:x>",
    "`` a` <img src=x> `b``",
    "` a\n`<img src=x>` b",
    "``` `x`\n<img src=x>\n```",
    "- a\n  ```\n<img src=x>\n",
    "  ```\n```\n<img src=x>",
    "```\n```python\n```\n<img src=x>",
    "<https://x`> <img src=y> `",
    "| `| <img src=x> | `|\n|-|-|\n",
    "\\` <img src=x> `",
    "~~~\n```\n~~~\n<img src=x>",
    "> ```\n<img src=x>",
    "1. ```\n\n<img src=x>",
    "```\n<img src=x>",
]
PIECES = st.lists(
    st.sampled_from(
        [
            *FETCHES,
            "`",
            "``",
            "```",
            "~~~",
            "\n",
            "\n\n",
            "- ",
            "> ",
            "1. ",
            "    ",
            "  ",
            "|",
            "\\",
            "!",
            "[",
            "](",
            "]",
            ":",
            "<",
            "a",
            " ",
            "<i>",
            "![",
            "\t",
            "&",
            "#",
            "*",
            "https://x",
            "<a ",
            "'",
            '"',
            ")",
            "x\n---\n",
            "|-|-|\n",
        ]
    ),
    max_size=10,
).map("".join)


def tokens(text: str) -> list[Token]:
    found: list[Token] = []
    for reader in READERS:
        for token in reader.parse(text):
            found += [token, *(token.children or [])]
    return found


def check_harmless(text: str) -> None:
    for token in tokens(text):
        assert token.type not in ("image", "html_inline", "html_block"), (text, token.content)
        if token.type == "link_open":
            href = str(token.attrGet("href"))
            assert href.startswith(("https://", "http://", "mailto:", "#")) or ":" not in href.partition("/")[0], href
        if token.type in ("text", "text_special"):
            assert "\u202e" not in token.content and "\u200d" not in token.content


@pytest.mark.parametrize("text", FETCHES)
def test_a_message_fetches_nothing_and_contains_no_html(text: str) -> None:
    for around in ("{}", "a\n\n{}", "a {} b", "- {}", "> {}", "```\ncode\n```\n{}"):
        check_harmless(safe_markdown(around.format(text)))


@settings(max_examples=400)
@given(PIECES)
def test_no_message_fetches_or_becomes_html(text: str) -> None:
    check_harmless(safe_markdown(text))
    check_harmless("- **Ran** `x`\n\n" + safe_markdown(text) + "\n\nafter <!")
    check_harmless("\n".join(f"> {line}".rstrip() for line in safe_markdown(text).split("\n")))


@settings(max_examples=200)
@given(PIECES)
def test_a_name_is_only_text(name: str) -> None:
    check_harmless(f"**Ran** {code_span(name)} ({plain_line(name)})")
    check_harmless(f"| {plain_line(name)} | b |\n|---|---|\n| {plain_line(name)} | c |\n")
    cells = [token for token in READERS[1].parse(f"| {plain_line(name)} | b |\n|---|---|\n") if token.type == "th_open"]
    assert len(cells) == 2


@pytest.mark.parametrize(
    "text",
    [
        "Use `List<int>` and `<div>` here.",
        "```html\n<img src=x>\n```\n\nafter",
        "[site](https://example.org) and [file](src/a.py)",
        "**bold** _x_ 1 < 2 && 3 > 2\n\n- a\n- b",
        "~~~\n![x](y)\n~~~",
        "a &amp; b &nbsp; c",
        "| a | b |\n|---|---|\n| 1 | 2 |",
    ],
)
def test_ordinary_markdown_stays_as_it_is(text: str) -> None:
    assert safe_markdown(text) == text


def test_an_exported_session_names_files_and_attachments_as_text(tmp_path: Path) -> None:
    name = "<img src=https:evil.example`>.py"

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            session = await create_session(made.journal, f"/tmp/`{name}", f"![t](https://evil.example/t) {name}")
            facts: list[SessionEvent] = [
                UserMessage(Text("Go."), (Attachment(name, name, "", 3),)),
                RunStarted(f"m{name}", 9),
                Replied(
                    Text("![x](https://evil.example/p.png) <b>x</b>"),
                    Text(),
                    (call("r1c1", "write", **{"path": name, f"</summary>{name}": "x" * 300}),),
                ),
                CallStarted("r1c1", "write", "write", name),
                FileChanged("r1c1", name, "", "", 1, 2),
                RunEnded("failed", name),
            ]
            for fact in facts:
                await made.journal.append(session, fact)
            text = await made.export_text(session, "md")
            html = [token.content for token in tokens(text) if token.type.startswith("html")]
            assert all("<img" not in each and "<b>" not in each for each in html), html
            assert not any(token.type == "image" for token in tokens(text))
            page = await made.export_text(session, "html")
            assert "<img" not in page and "<b>x</b>" not in page and 'src="' not in page

    asyncio.run(main())


def test_entities_cannot_hide_text_in_the_web_page() -> None:
    assert markdown_to_html("a &#x202e;b `&#x202e;`") == "<p>a ⟦U+202E⟧b <code>&amp;#x202e;</code></p>\n"
