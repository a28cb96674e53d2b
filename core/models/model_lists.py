"""Parsers for the model lists of providers. Properties that a list does not contain are None."""

from collections.abc import Iterable
from typing import Any

from core.models.api_client import ListedModel
from core.models.json_values import as_count, as_objects, as_text, get_path

WINDOW_PATHS = (
    ("meta", "n_ctx"),
    ("max_model_len",),
    ("loaded_context_length",),
    ("context_length",),
    ("context_window",),
    ("max_context_length",),
    ("max_input_tokens",),
    ("inputTokenLimit",),
    ("meta", "n_ctx_train"),
)
MAX_MODELS = 2_000  # limit of models per provider, against endless lists
MAX_NAME_LENGTH = 300  # characters of a model name
MAX_OUTPUT_PATHS = (
    ("top_provider", "max_completion_tokens"),
    ("max_output_tokens",),
    ("max_completion_tokens",),
    ("max_tokens",),
    ("outputTokenLimit",),
)


def parse_openai_models(plain: Any) -> list[ListedModel]:
    """Parse an OpenAI model list.

    It may contain the additions of OpenRouter, vLLM, llama.cpp, LiteLLM, Groq, Mistral and LM Studio.
    """
    rows = plain if isinstance(plain, list) else get_path(plain, "data") or get_path(plain, "models")
    return [_chat_row(row) for row in as_objects(rows)[:MAX_MODELS] if _is_name(row.get("id") or row.get("name"))]


def parse_anthropic_models(plain: Any) -> list[ListedModel]:
    return [
        ListedModel(
            as_text(row["id"]),
            as_text(row.get("display_name")),
            window=as_count(row.get("max_input_tokens")),
            max_output=as_count(row.get("max_tokens")),
            vision=_supported(get_path(row, "capabilities", "image_input")),
            pdf=_supported(get_path(row, "capabilities", "pdf_input")),
            reasoning=_supported(get_path(row, "capabilities", "thinking")),
        )
        for row in as_objects(get_path(plain, "data"))[:MAX_MODELS]
        if _is_name(row.get("id"))
    ]


def parse_ollama_names(plain: Any) -> list[str]:
    """Return the model names in a response of Ollama's `/api/tags`."""
    names = (
        as_text(row.get("model")) or as_text(row.get("name"))
        for row in as_objects(get_path(plain, "models"))[:MAX_MODELS]
    )
    return [name for name in names if _is_name(name)]


def parse_ollama_model(model: str, details: Any) -> ListedModel:
    """Parse a response of Ollama's `/api/show`. The window is the largest that the model supports."""
    info = get_path(details, "model_info")
    fields = info.items() if isinstance(info, dict) else ()
    window = next((as_count(value) for name, value in fields if name.endswith(".context_length")), None)
    capabilities = get_path(details, "capabilities")
    if not isinstance(capabilities, list):
        return ListedModel(model, window=window)
    return ListedModel(
        model,
        window=window,
        tools="tools" in capabilities,
        vision="vision" in capabilities,
        pdf=False,
        reasoning="thinking" in capabilities,
    )


def _is_name(value: Any) -> bool:
    """Return whether a value can be a model name: a short, non-empty, printable string."""
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME_LENGTH and value.isprintable()


def _chat_row(row: dict[str, Any]) -> ListedModel:
    capabilities = _capabilities(row.get("capabilities"))
    parameters = row.get("supported_parameters")
    modalities = get_path(row, "architecture", "input_modalities")
    if isinstance(parameters, list):
        tools: bool | None = "tools" in parameters
        reasoning: bool | None = "reasoning" in parameters
    else:
        tools = _first_known(capabilities, "function_calling", "tool_use", "tools")
        reasoning = _first_known(capabilities, "reasoning")
    if isinstance(modalities, list):
        vision: bool | None = "image" in modalities
        pdf: bool | None = "file" in modalities
    else:
        vision = _first_known(capabilities, "vision", "multimodal")
        pdf = None
    return ListedModel(
        id=as_text(row.get("id")) or as_text(row.get("name")),
        name=as_text(row.get("display_name")) or (as_text(row.get("name")) if row.get("id") else ""),
        window=_first_count(row, WINDOW_PATHS),
        max_output=_first_count(row, MAX_OUTPUT_PATHS),
        price_in=_price(get_path(row, "pricing", "prompt")),
        price_out=_price(get_path(row, "pricing", "completion")),
        price_cached=_price(get_path(row, "pricing", "input_cache_read")),
        tools=tools,
        vision=vision,
        pdf=pdf,
        reasoning=reasoning,
    )


def _first_count(row: dict[str, Any], paths: Iterable[tuple[str, ...]]) -> int | None:
    return next((count for path in paths if (count := as_count(get_path(row, *path)))), None)


def _capabilities(value: Any) -> dict[str, Any]:
    """Return the capabilities of a model by name, from a list of names or from an object."""
    if isinstance(value, list):
        return {name: True for name in value if isinstance(name, str)}
    return value if isinstance(value, dict) else {}


def _first_known(capabilities: dict[str, Any], *names: str) -> bool | None:
    """Return whether a model has the first of these capabilities that its provider names; None if it names none."""
    return next((bool(capabilities[name]) for name in names if name in capabilities), None)


def _supported(capability: Any) -> bool | None:
    value = capability.get("supported") if isinstance(capability, dict) else capability
    return value if isinstance(value, bool) else None


def _price(value: Any) -> float | None:
    """Convert dollars per token into dollars per million tokens; None if invalid, or negative, which means variable."""
    try:
        price = float(value) * 1_000_000
    except (TypeError, ValueError):
        return None
    return round(price, 6) if 0 <= price < 1_000_000 else None
