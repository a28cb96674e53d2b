"""The resources and prompts of MCP servers, which the user can insert into a message."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.domain.visible import visible, visible_name

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import GetPromptResult, ReadResourceResult

MAX_MENTIONS = 200
MAX_DESCRIPTION = 200
MAX_NAME = 2_000


@dataclass(frozen=True, slots=True)
class McpMention:
    """A resource (`name` is its URI) or a prompt (with the names of its arguments) that a message can mention."""

    server: str
    name: str
    description: str = ""
    arguments: tuple[str, ...] = ()

    @property
    def mention_text(self) -> str:
        """The text that mentions the resource or prompt in a message."""
        return f"{self.server}:{self.name}"


@dataclass(frozen=True, slots=True)
class McpMentions:
    resources: tuple[McpMention, ...] = ()
    prompts: tuple[McpMention, ...] = ()


async def list_mentions(server: str, client: "Client") -> McpMentions:
    """List resources and prompts.

    Those are skipped whose names, or names of arguments, are very long or contain invisible characters, and names with
    whitespace, which cannot be typed.
    """
    capabilities = client.server_capabilities
    resources = (await client.list_resources()).resources[:MAX_MENTIONS] if capabilities.resources else []
    prompts = (await client.list_prompts()).prompts[:MAX_MENTIONS] if capabilities.prompts else []
    resource_mentions = (
        McpMention(server, str(resource.uri), _clean_description(resource.description or resource.name))
        for resource in resources
    )
    prompt_mentions = (
        McpMention(
            server,
            prompt.name,
            _clean_description(prompt.description or ""),
            tuple(argument.name for argument in prompt.arguments or ()),
        )
        for prompt in prompts
    )
    return McpMentions(tuple(filter(_is_typeable, resource_mentions)), tuple(filter(_is_typeable, prompt_mentions)))


def resource_text(read: "ReadResourceResult") -> str:
    """Return the text of a resource; binary parts are replaced by a note."""
    texts = [getattr(part, "text", None) for part in read.contents]
    return "\n".join(text if isinstance(text, str) else "[a binary file]" for text in texts)


def prompt_text(result: "GetPromptResult") -> str:
    """Return the text of all messages of a prompt."""
    return "\n\n".join(message.content.text for message in result.messages if message.content.type == "text")


def _is_typeable(mention: McpMention) -> bool:
    names = (mention.name, *mention.arguments)
    is_clear = all(0 < len(name) <= MAX_NAME and visible_name(name) == name for name in names)
    return is_clear and not any(char.isspace() for char in mention.name)


def _clean_description(text: str) -> str:
    return " ".join(visible(text).split())[:MAX_DESCRIPTION]
