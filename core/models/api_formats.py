"""The table of supported API formats."""

from collections.abc import Callable
from typing import Protocol

from core.models.anthropic import AnthropicModel
from core.models.api_client import ListedModel, ModelLimits
from core.models.chat import ChatCompletionsModel
from core.models.endpoint import ProviderEndpoint
from core.models.model import Model
from core.models.ollama import OllamaModel
from core.models.responses import ResponsesModel


class ProviderModel(Model, Protocol):
    """A model of a provider, which can also list the other models of the provider."""

    async def list_models(self) -> list[ListedModel]: ...


API_FORMATS: dict[str, Callable[[ProviderEndpoint, str, ModelLimits], ProviderModel]] = {
    "chat": ChatCompletionsModel,
    "responses": ResponsesModel,
    "anthropic": AnthropicModel,
    "ollama": OllamaModel,
}
