"""Text files as an agent edits them: decoded without loss, line ends as they are."""

from core.domain.problems import Problem


def decode(body: bytes, path: str) -> str:
    """The text of a file; a file that is no text is not edited as one."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem(f"{path} is no UTF-8 text.", f"Byte {error.start:,} cannot be read.", "Use a command.") from error
    if "\0" in text:
        raise Problem(f"{path} is no text file.", "It holds a zero byte.", "Use a command.")
    return text


def ends_with_crlf(text: str) -> bool:
    """Does every line of the text end as on Windows?"""
    return "\r\n" in text and text.count("\n") == text.count("\r\n")


def with_ends_of(text: str, piece: str) -> str:
    """`piece` with the line ends that `text` has: models write plain ones."""
    return piece.replace("\n", "\r\n") if ends_with_crlf(text) and "\r" not in piece else piece
