"""Detects the providers, such as Ollama, that are running on this computer."""

import asyncio
import contextlib
from collections.abc import Iterable
from urllib.parse import urlsplit

from core.models.providers import ModelProvider
from core.workspace.socket_owner import is_of_another_user

CONNECT_TIMEOUT_S = 0.3


async def find_running(providers: Iterable[ModelProvider]) -> list[ModelProvider]:
    """Return the local providers whose port accepts connections. All ports are tried concurrently.

    A program of another user of this computer is left out, because it would receive everything that agents read.
    """
    local = [provider for provider in providers if provider.is_local and not provider.is_embedded]
    states = await asyncio.gather(*(_is_listening(provider) for provider in local))
    return [provider for provider, listening in zip(local, states, strict=True) if listening]


async def _is_listening(provider: ModelProvider) -> bool:
    parts = urlsplit(provider.url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if is_of_another_user(port):
        return False
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True
