"""Model servers of this machine, found on the ports they use, without holding anybody up."""

import asyncio
import contextlib
from collections.abc import Iterable
from urllib.parse import urlsplit

from core.models.sites import Site

KNOCK_S = 0.3


async def listening(sites: Iterable[Site]) -> list[Site]:
    """Those at whose port something listens on this machine; all are tried at once."""
    near = [site for site in sites if site.near]
    found = await asyncio.gather(*(_listens(site) for site in near))
    return [site for site, there in zip(near, found, strict=True) if there]


async def _listens(site: Site) -> bool:
    parts = urlsplit(site.url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        async with asyncio.timeout(KNOCK_S):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True
