"""Aider's chat history: inputs of the user are distinguished from headings and quotations in replies."""

import asyncio
from pathlib import Path

import pytest

from core.domain.events import Replied, UserMessage
from tests.core.exchange.home import home

HISTORY = """
# aider chat started at 2026-11-02 10:00:00

> Aider v0.86.2  

#### Compare the two  
#### in a table  

Here it is.

#### With npm

> It is slower.

#### With yarn

> Tokens: 1.5k sent, 20 received.  

#### /tokens  
"""  # noqa: W291 - the spaces at the end of lines are part of the format


@pytest.mark.parametrize("trimmed", [False, True], ids=["as written", "spaces removed by an editor"])
def test_headings_and_quotations_in_replies_are_not_inputs(trimmed: bool, tmp_path: Path) -> None:
    text = "\n".join(line.rstrip() for line in HISTORY.splitlines()) + "\n" if trimmed else HISTORY

    async def main() -> None:
        file = tmp_path / ".aider.chat.history.md"
        file.write_text(text)
        async with home(tmp_path / "a.db") as made:
            brought = await made.exchange.import_file(file)
            events = await made.events(brought.session)
            messages = [event.text.head for event in events if isinstance(event, UserMessage)]
            replies = [event for event in events if isinstance(event, Replied)]
            assert sum(reply.usage.input for reply in replies) == 1_500
            if trimmed:  # nothing distinguishes them any more, and nothing is lost
                assert messages == ["Compare the two\nin a table", "With npm", "With yarn"]
            else:
                assert messages == ["Compare the two\nin a table"]
                assert replies[0].text.head == "Here it is.\n\n#### With npm\n\n> It is slower.\n\n#### With yarn"
            row = made.reader.session(brought.session)
            assert row and row.folder == str(tmp_path)

    asyncio.run(main())
