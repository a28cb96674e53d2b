"""The `read` tool: text files in whole or in part; images and PDFs for models that accept them."""

import asyncio
import posixpath
from dataclasses import dataclass
from difflib import SequenceMatcher
from io import BytesIO
from itertools import islice
from typing import Annotated

from annotated_types import Ge, Le

from core.domain.problems import Problem
from core.tools.folder_walk import FolderWalk, printable_path
from core.tools.parameter_description import MAX_NUMBER, ParameterDescription
from core.tools.read_before_edit import content_digest
from core.tools.tool import KnownFile, MediaContent, Tool, ToolResult
from core.tools.tool_context import ToolContext
from core.workspace.paths import printable

MAX_WALKED_FILES = 2_000
MAX_SIMILAR_FILES = 12
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
            raise await asyncio.to_thread(_missing_file, parameters.path, context) from problem
        raise
    return await asyncio.to_thread(_read_large, parameters, context) if body is None else _result(parameters, body)


def _read_large(parameters: ReadArguments, context: ToolContext) -> ToolResult:
    return _result(parameters, context.broker.read(parameters.path, allow_secrets=False))


def _missing_file(path: str, context: ToolContext) -> Problem:
    """Return the error for a missing file, with the most similar existing paths, so that the model need not search."""
    paths = ["/".join(parts) for parts in islice(FolderWalk(context.folder).files(), MAX_WALKED_FILES)]
    name = posixpath.basename(path)
    ranked = sorted(paths, key=lambda other: -SequenceMatcher(None, name, posixpath.basename(other)).ratio())
    similar = ", ".join(printable_path(tuple(other.split("/"))) for other in ranked[:MAX_SIMILAR_FILES])
    more = ", …" if len(paths) > MAX_SIMILAR_FILES else ""
    files = f"The folder has: {similar}{more}." if paths else "The folder has no files."
    return Problem(f"There is no file {printable(path)}.", files, "Use one that exists.")


def _result(parameters: ReadArguments, body: bytes) -> ToolResult:
    if media_type := _media_type(body):
        return _media_result(parameters.path, media_type, body)
    if b"\0" in body[:8192]:
        return ToolResult(f"{parameters.path} is not a text file ({len(body):,} bytes).", failed=True)
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
        message = f"{path} is too large to view: {media_type}, {len(body):,} bytes; the limit is {MAX_MEDIA_BYTES:,}."
        return ToolResult(message, failed=True)
    media = MediaContent(posixpath.basename(path), media_type, body)
    return ToolResult(f"{path} ({media_type}, {len(body):,} bytes)", media=(media,))


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
