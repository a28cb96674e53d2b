"""Looks up a model at a URL from the user: the size, the name and the SHA-256 of its file."""

import re
from collections.abc import Container
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit, urlunsplit

import httpx

from core.domain.address import is_loopback
from core.domain.problems import Problem
from core.models.http import make_client
from core.models.local.model_table import LocalModel

TIMEOUT_S = 30.0
MAGIC = b"GGUF"
OVERHEAD_BYTES = 2 << 30  # memory in addition to the weights, assumed until the file's header is known
HUB_PAGE, HUB_FILE = "/blob/", "/resolve/"  # path components of a file's page on Hugging Face, and of the file itself
SHA256 = re.compile(r"[0-9a-f]{64}")


async def look_up(url: str, proxy: str, taken: Container[str]) -> LocalModel:
    """Request the size of the file at a URL, and choose a name for the model that is not `taken`.

    Hugging Face also sends the SHA-256. Raise `Problem` if there is no model file in the GGUF format.
    """
    headers = {"accept-encoding": "identity", "user-agent": "journeyman"}
    try:
        async with (
            make_client(url, proxy, httpx.Timeout(TIMEOUT_S), follow_redirects=True) as client,
            client.stream("GET", url, headers=headers) as response,
        ):
            if response.status_code != 200:
                raise _problem(url, f"The server returned status {response.status_code}.")
            start = b""
            async for chunk in response.aiter_raw():
                start += chunk
                if len(start) >= len(MAGIC):
                    break
            length = response.headers.get("content-length", "")
            stated = (reply.headers.get("x-linked-etag", "").strip('"') for reply in (*response.history, response))
            sha256 = next((digest for digest in stated if SHA256.fullmatch(digest)), "")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _problem(url, f"{str(error) or type(error).__name__}.") from error
    if not start.startswith(MAGIC):
        raise _problem(url, "It is not a file in the GGUF format.")
    if not length.isdigit():
        raise _problem(url, "The server does not say how large the file is.")
    size, name = int(length), _name(url, taken)
    return LocalModel(
        name=name,
        title=name,
        purpose="",
        license="",
        size=size,
        memory=size + OVERHEAD_BYTES,
        window=0,
        sha256=sha256,
        addresses=(url,),
    )


def file_address(address: str) -> str:
    """Return the URL of a file, given its URL or that of its Hugging Face page; raise `Problem` unless HTTPS."""
    parts = urlsplit(address.strip())
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise _problem(address, "Models are downloaded over HTTPS only.")
    return urlunsplit(parts._replace(path=parts.path.replace(HUB_PAGE, HUB_FILE, 1), fragment=""))


def _name(url: str, taken: Container[str]) -> str:
    """Return the file name without its suffix, with a number if that name is taken."""
    stem = PurePosixPath(unquote(urlsplit(url).path)).stem
    plain = re.sub(r"[^\w.-]+", "-", stem, flags=re.ASCII).strip(".-").lower() or "model"
    name, number = plain, 2
    while name in taken:
        name, number = f"{plain}-{number}", number + 1
    return name


def _problem(address: str, cause: str) -> Problem:
    return Problem(f"There is no model at {address}.", cause, "Use the address of a GGUF file.")
