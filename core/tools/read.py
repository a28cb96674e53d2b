"""The `read` tool: text files in whole or in part; images and PDFs for models that accept them."""

import asyncio
import os
import posixpath
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import Annotated, BinaryIO

from annotated_types import Ge, Le

from core.domain.problems import Problem
from core.tools.missing_path import missing_path
from core.tools.parameter_description import MAX_NUMBER, ParameterDescription
from core.tools.read_before_edit import content_digest
from core.tools.tool import KnownFile, MediaContent, Tool, ToolResult
from core.tools.tool_context import ToolContext
from core.workspace.broker import READ_LIMIT
from core.workspace.paths import printable

MAX_PART_BYTES = 1 << 20  # of a file that is too large to be read whole
CHUNK_BYTES = 1 << 20
BEGINNING_BYTES = 8_192  # of a file, in which a null byte shows that it is not text
WHOLE_BYTES = 1_000  # a file up to this size is returned whole even if only some lines are requested
MAX_MEDIA_BYTES = 3_700_000  # of an image or PDF: as base64 about 5 MB, the lowest limit of the providers
# The media types of images and PDFs, by their first bytes.
MEDIA_TYPES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"%PDF-": "application/pdf",
}


@dataclass(frozen=True, slots=True)
class ReadArguments:
    path: Annotated[str, ParameterDescription("The file.")]
    start: Annotated[int, Ge(1), Le(MAX_NUMBER), ParameterDescription("First line.")] = 1
    end: Annotated[int, Ge(0), Le(MAX_NUMBER), ParameterDescription("Last line, included; 0: the end.")] = 0


async def run(parameters: ReadArguments, context: ToolContext) -> ToolResult:
    if 0 < parameters.end < parameters.start:
        return ToolResult(f"Nothing was read: start {parameters.start} is after end {parameters.end}.", failed=True)
    try:
        body = context.broker.read_small(parameters.path, allow_secrets=False)
    except Problem as problem:
        if context.broker.stat(parameters.path) is None:
            raise await asyncio.to_thread(missing_path, parameters.path, context) from problem
        raise
    return await asyncio.to_thread(_read_large, parameters, context) if body is None else _result(parameters, body)


def _read_large(parameters: ReadArguments, context: ToolContext) -> ToolResult:
    with context.broker.open_file(parameters.path, allow_secrets=False) as file:
        size = os.fstat(file.fileno()).st_size
        if size > READ_LIMIT:
            return _read_part(parameters, file, size)
    return _result(parameters, context.broker.read(parameters.path, allow_secrets=False))


def _read_part(parameters: ReadArguments, file: BinaryIO, size: int) -> ToolResult:
    """Read the selected lines of a text file that is too large to be read whole, or as many as MAX_PART_BYTES allow.

    The file does not count as read for an edit, because it is too large for one.
    """
    beginning = file.read(BEGINNING_BYTES)
    if media_type := _media_type(beginning):
        return _too_large_to_view(parameters.path, media_type, size)
    if b"\0" in beginning:
        return _not_text(parameters.path, size)
    if parameters.start == 1 and not parameters.end:
        cause = f"It has {size:,} bytes; the limit for a whole file is {READ_LIMIT:,}."
        fix = "Read it in parts with start and end, or search it with grep in a command."
        raise Problem(f"{printable(parameters.path)} is too large.", cause, fix)
    lines = _skip_lines(file, parameters.start - 1, size)
    if file.tell() >= size:
        return ToolResult(f"{parameters.path} has {lines:,} lines.", failed=True)
    part = BytesIO()
    line = parameters.start
    while not parameters.end or line <= parameters.end:
        text = file.readline(min(MAX_PART_BYTES - part.tell(), size - file.tell()))
        if not text:
            break
        part.write(text)
        line += text.endswith(b"\n")
    note = ""
    if part.tell() >= MAX_PART_BYTES:
        note = f"\n[Only the first {MAX_PART_BYTES:,} bytes of these lines were read, up to line {line:,}.]"
    return ToolResult(part.getvalue().decode("utf-8", "replace") + note)


def _skip_lines(file: BinaryIO, count: int, size: int) -> int:
    """Move past the first `count` lines of a file, or to its end, and return the number of lines skipped.

    `size` is where the file ends, because it may grow meanwhile.
    """
    file.seek(0)
    skipped = 0
    has_unended_line = False
    while skipped < count and (chunk := file.read(min(CHUNK_BYTES, size - file.tell()))):
        newlines = chunk.count(b"\n")
        if skipped + newlines >= count:
            position = 0
            for _ in range(count - skipped):
                position = chunk.index(b"\n", position) + 1
            file.seek(position - len(chunk), os.SEEK_CUR)
            return count
        skipped += newlines
        has_unended_line = not chunk.endswith(b"\n")
    return skipped + has_unended_line


def _result(parameters: ReadArguments, body: bytes) -> ToolResult:
    if media_type := _media_type(body):
        return _media_result(parameters.path, media_type, body)
    if b"\0" in body[:BEGINNING_BYTES]:
        return _not_text(parameters.path, len(body))
    known_files = (KnownFile(parameters.path, content_digest(body)),)
    is_partial = parameters.start > 1 or parameters.end
    if is_partial and len(body) <= WHOLE_BYTES and parameters.start <= body.count(b"\n") + 1:
        text = f"[The whole file, because it is short]\n{body.decode('utf-8', 'replace')}"
        return ToolResult(text, known_files=known_files)
    # Only the requested lines are decoded: long runs read long files in small pieces.
    selected = b"".join(islice(BytesIO(body), parameters.start - 1, parameters.end or None))
    if not selected and parameters.start > 1:
        has_unended_line = bool(body) and not body.endswith(b"\n")
        lines = body.count(b"\n") + has_unended_line
        if parameters.start > max(lines, 1):
            return ToolResult(f"{parameters.path} has {lines:,} lines.", failed=True)
    return ToolResult(selected.decode("utf-8", "replace"), known_files=known_files)


def _media_type(body: bytes) -> str:
    """Return the media type of an image or a PDF, by its first bytes; "" for anything else."""
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for first_bytes, media_type in MEDIA_TYPES.items() if body.startswith(first_bytes)), "")


def _media_result(path: str, media_type: str, body: bytes) -> ToolResult:
    if len(body) > MAX_MEDIA_BYTES:
        return _too_large_to_view(path, media_type, len(body))
    media = MediaContent(posixpath.basename(path), media_type, body)
    return ToolResult(f"{path} ({media_type}, {len(body):,} bytes)", media=(media,))


def _too_large_to_view(path: str, media_type: str, size: int) -> ToolResult:
    message = f"{path} is too large to view: {media_type}, {size:,} bytes; the limit is {MAX_MEDIA_BYTES:,}."
    return ToolResult(message, failed=True)


def _not_text(path: str, size: int) -> ToolResult:
    return ToolResult(f"{path} is not a text file ({size:,} bytes).", failed=True)


def timeline_text(parameters: ReadArguments) -> str:
    if parameters.start == 1 and not parameters.end:
        return str(parameters.path)
    return f"{parameters.path} {parameters.start}–{parameters.end or ''}"


READ = Tool(
    name="read",
    description="Read a text file, image or PDF. start and end select lines, counted from 1.",
    parameters=ReadArguments,
    kind="read",
    access="read",
    describe=timeline_text,
    run=run,
)
