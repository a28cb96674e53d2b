"""The `read` tool: text files in whole or in part; images and PDFs for models that accept them."""

import asyncio
import posixpath
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import Annotated

from annotated_types import Ge

from core.tools.parameter_description import ParameterDescription
from core.tools.read_before_edit import content_digest
from core.tools.tool import MediaContent, Tool, ToolResult
from core.tools.tool_context import ToolContext

SHOWN = 3_700_000  # bytes; five million as base64, the lowest limit of the providers
BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)


@dataclass(frozen=True, slots=True)
class ReadArguments:
    path: Annotated[str, ParameterDescription("The file.")]
    start: Annotated[int, Ge(1), ParameterDescription("First line.")] = 1
    end: Annotated[int, Ge(0), ParameterDescription("Last line, included; 0: the end.")] = 0


async def run(parameters: ReadArguments, context: ToolContext) -> ToolResult:
    if 0 < parameters.end < parameters.start:
        return ToolResult(f"Nothing was read: start {parameters.start} is after end {parameters.end}.", failed=True)
    body = context.broker.read_small(parameters.path, allow_secrets=False)
    return await asyncio.to_thread(_read, parameters, context) if body is None else _result(parameters, body)


def _read(parameters: ReadArguments, context: ToolContext) -> ToolResult:
    return _result(parameters, context.broker.read(parameters.path, allow_secrets=False))


def _result(parameters: ReadArguments, body: bytes) -> ToolResult:
    if media_type := _media_type(body):
        return _media_result(parameters.path, media_type, body)
    if b"\0" in body[:8192]:
        return ToolResult(f"{parameters.path} is not a text file ({len(body):,} bytes).", failed=True)
    digests = ((parameters.path, content_digest(body)),)
    # Only the requested lines are decoded: long runs read long files in small pieces.
    selected = b"".join(islice(BytesIO(body), parameters.start - 1, parameters.end or None))
    if not selected and parameters.start > 1:
        lines = body.count(b"\n") + (not body.endswith(b"\n") and bool(body))
        if parameters.start > max(lines, 1):
            return ToolResult(f"{parameters.path} has {lines:,} lines.", failed=True)
    return ToolResult(selected.decode("utf-8", "replace"), known_files=digests)


def _media_type(body: bytes) -> str:
    """Return the media type of an image or a PDF, by its first bytes; "" for anything else."""
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for start, media_type in BEGINNINGS if body.startswith(start)), "")


def _media_result(path: str, kind: str, body: bytes) -> ToolResult:
    name = posixpath.basename(path)
    if len(body) > SHOWN:
        message = f"{path} is too large to view: {kind}, {len(body):,} bytes; the limit is {SHOWN:,}."
        return ToolResult(message, failed=True)
    return ToolResult(f"{path} ({kind}, {len(body):,} bytes)", media=(MediaContent(name, kind, body),))


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
