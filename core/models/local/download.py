"""Downloads a model's file: resumed after interruptions, verified, and renamed to its final name when complete."""

import errno
import hashlib
import os
import shutil
from asyncio import to_thread
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

import httpx

from core.domain.problems import Problem
from core.models.http import make_client
from core.models.local.model_table import LocalModel

READ_TIMEOUT_S = 60.0
CONNECT_TIMEOUT_S = 15.0
RESERVE_BYTES = 256 << 20  # disk space that must stay free
BLOCK = 1 << 20
RETRY_FIX = "Try again; the download continues where it stopped."

Progress = Callable[[int, int], object]
"""Receives the number of bytes downloaded so far, and the size of the file."""


class FailedAttempt(Exception):
    """An attempt to download from one address failed; another attempt may succeed. The message is the reason."""


def part_path(target: Path) -> Path:
    """Return the path of the incomplete download of a file."""
    return target.with_name(f"{target.name}.part")


async def download(
    model: LocalModel, target: Path, addresses: Iterable[str], proxy: str, on_progress: Progress
) -> None:
    """Download a model's file to `target`; raise `Problem` on failure, keeping the received part for the next attempt.

    Each address is tried as long as every attempt gets further than all earlier ones.
    """
    part = part_path(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _check_space(model, part)
    except OSError as error:
        raise _disk_problem(model, error) from error
    failures: list[str] = []
    furthest = -1
    for address in addresses:
        while _size(part) > furthest:
            furthest = _size(part)
            try:
                await _attempt(model, part, address, proxy, on_progress)
                await to_thread(os.replace, part, target)
                return
            except FailedAttempt as failure:
                failures.append(f"{address}: {failure}")
            except OSError as error:
                raise _disk_problem(model, error) from error
        furthest = _size(part) - 1  # the next address gets at least one attempt
    raise Problem(f"{model.name} could not be downloaded.", " ".join(dict.fromkeys(failures)), RETRY_FIX)


async def _attempt(model: LocalModel, part: Path, address: str, proxy: str, on_progress: Progress) -> None:
    """Download the missing part and verify the file; raise `FailedAttempt`, or OSError on a write error."""
    if _size(part) > model.size:
        await to_thread(part.unlink)
    with part.open("ab") as file:
        digest = hashlib.sha256()
        start = await to_thread(_hash_existing, part, digest)
        if start < model.size:
            digest = await _receive(model, file, start, digest, address, proxy, on_progress)
        await to_thread(os.fsync, file.fileno())
    if model.sha256 and digest.hexdigest() != model.sha256:
        await to_thread(part.unlink)
        raise FailedAttempt(f"The file has the SHA-256 {digest.hexdigest()} instead of {model.sha256}; it was deleted.")


async def _receive(
    model: LocalModel,
    file: BinaryIO,
    start: int,
    digest: "hashlib._Hash",
    address: str,
    proxy: str,
    on_progress: Progress,
) -> "hashlib._Hash":
    """Receive the file from byte `start` on; return the digest of the whole file."""
    headers = {"accept-encoding": "identity", "user-agent": "journeyman"}
    if start:
        headers["range"] = f"bytes={start}-"
    timeout = httpx.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    try:
        async with (
            make_client(address, proxy, timeout, follow_redirects=True) as client,
            client.stream("GET", address, headers=headers) as response,
        ):
            _check_response(response, model)
            size = _range_start(response)
            if size != start:  # the server ignored the range header
                file.truncate(0)
                size, digest = 0, hashlib.sha256()
            async for chunk in response.aiter_raw():
                if size + len(chunk) > model.size:
                    raise FailedAttempt(f"It sent more than the {model.size:,} bytes of the file.")
                file.write(chunk)
                digest.update(chunk)
                size += len(chunk)
                on_progress(size, model.size)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise FailedAttempt(f"{str(error) or type(error).__name__}.") from error
    finally:
        file.flush()
    if size < model.size:
        raise FailedAttempt(f"The connection was closed after {size:,} of {model.size:,} bytes.")
    return digest


def _check_response(response: httpx.Response, model: LocalModel) -> None:
    """Raise `FailedAttempt` unless the response contains the model's file."""
    if response.status_code not in (200, 206):
        raise FailedAttempt(f"It returned status {response.status_code}.")
    length = response.headers.get("content-length", "")
    if response.status_code == 206:
        length = response.headers.get("content-range", "").rpartition("/")[2]
    if length.isdigit() and int(length) != model.size:
        raise FailedAttempt(f"Its file has {int(length):,} bytes instead of {model.size:,}.")
    if "html" in response.headers.get("content-type", ""):
        raise FailedAttempt("It returned a web page.")


def _range_start(response: httpx.Response) -> int:
    """Return the position in the file of the first byte that a response contains."""
    first = response.headers.get("content-range", "").removeprefix("bytes ").partition("-")[0]
    return int(first) if response.status_code == 206 and first.isdigit() else 0


def _hash_existing(path: Path, digest: "hashlib._Hash") -> int:
    """Add the contents of a file to the digest; return the file's size."""
    size = 0
    with path.open("rb") as file:
        while path.stat().st_size > size and (block := file.read(BLOCK)):
            digest.update(block)
            size += len(block)
    return size


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _check_space(model: LocalModel, part: Path) -> None:
    free = shutil.disk_usage(part.parent).free
    needed = model.size - _size(part) + RESERVE_BYTES
    if free < needed:
        cause = f"The download needs {needed / 1e9:.1f} GB; {free / 1e9:.1f} GB are free in {part.parent}."
        raise Problem(f"There is not enough disk space for {model.name}.", cause, "Free some disk space.")


def _disk_problem(model: LocalModel, error: OSError) -> Problem:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    message = "The disk is full." if full else f"{model.name} cannot be saved."
    fix = f"{'Free some disk space' if full else 'Fix this'}. {RETRY_FIX}"
    return Problem(message, f"{error.strerror or error}.", fix)
