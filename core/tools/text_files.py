"""Decodes text files for editing, strictly and without changing their line endings."""

from core.domain.problems import Problem


def decode_text(body: bytes, path: str) -> str:
    """Return the text of a file; raise a Problem if it is not UTF-8 text."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem(f"{path} is not UTF-8 text.", f"Byte {error.start:,} is invalid.", "Use a command.") from error
    if "\0" in text:
        raise Problem(f"{path} is not a text file.", "It contains a NUL byte.", "Use a command.")
    return text


def ends_with_crlf(text: str) -> bool:
    """Return whether every line of the text ends with CRLF."""
    return "\r\n" in text and text.count("\n") == text.count("\r\n")


def match_line_endings(text: str, string: str) -> str:
    """Return `string` with the line endings of `text`. Models write LF only."""
    return string.replace("\n", "\r\n") if ends_with_crlf(text) and "\r" not in string else string
