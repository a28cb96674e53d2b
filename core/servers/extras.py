"""What a tool server offers a person besides tools: resources to name in a message, prompts to begin one with."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.domain.visible import visible

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import GetPromptResult, ReadResourceResult

MOST = 200
ABOUT = 200


@dataclass(frozen=True, slots=True)
class Extra:
    """A resource by its address, or a prompt by its name with the names of its arguments."""

    server: str
    name: str
    about: str = ""
    arguments: tuple[str, ...] = ()

    @property
    def typed(self) -> str:
        """As a person names it."""
        return f"{self.server}:{self.name}"


@dataclass(frozen=True, slots=True)
class Extras:
    resources: tuple[Extra, ...] = ()
    prompts: tuple[Extra, ...] = ()


async def extras_of(server: str, client: "Client") -> Extras:
    """What can be typed: names with blanks or hidden signs in them are left out."""
    can = client.server_capabilities
    resources = (await client.list_resources()).resources[:MOST] if can.resources else []
    prompts = (await client.list_prompts()).prompts[:MOST] if can.prompts else []
    named = (Extra(server, str(one.uri), _about(one.description or one.name)) for one in resources)
    begun = (
        Extra(server, one.name, _about(one.description or ""), tuple(each.name for each in one.arguments or ()))
        for one in prompts
    )
    return Extras(tuple(filter(_fit, named)), tuple(filter(_fit, begun)))


def resource_words(read: "ReadResourceResult") -> str:
    """What stands in it, as far as it is text."""
    words = [getattr(part, "text", None) for part in read.contents]
    return "\n".join(word if isinstance(word, str) else "[a file that is no text]" for word in words)


def prompt_words(found: "GetPromptResult") -> str:
    """All of its messages, one after the other."""
    return "\n\n".join(part.content.text for part in found.messages if part.content.type == "text")


def _fit(extra: Extra) -> bool:
    return bool(extra.name) and not any(sign.isspace() for sign in extra.name) and visible(extra.name) == extra.name


def _about(text: str) -> str:
    return " ".join(visible(text).split())[:ABOUT]
