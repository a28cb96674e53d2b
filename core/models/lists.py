"""Lists of models as servers give them, and what each says of its models; what it does not say stays unknown."""

from collections.abc import Iterable
from typing import Any

from core.models.plain import at, number, objects, text
from core.models.wire import Listed

WINDOWS = (
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
MOST = 2_000  # models of one server; more nobody chooses from
LONGEST = 300  # signs of a name
OUTPUTS = (
    ("top_provider", "max_completion_tokens"),
    ("max_output_tokens",),
    ("max_completion_tokens",),
    ("max_tokens",),
    ("outputTokenLimit",),
)


def chat_list(plain: Any) -> list[Listed]:
    """OpenAI's list, and what OpenRouter, vLLM, llama.cpp, LiteLLM, Groq, Mistral and LM Studio add to it."""
    rows = plain if isinstance(plain, list) else at(plain, "data") or at(plain, "models")
    return [_chat_row(row) for row in objects(rows)[:MOST] if _is_name(row.get("id") or row.get("name"))]


def anthropic_list(plain: Any) -> list[Listed]:
    """Anthropic's list."""
    return [
        Listed(
            text(row["id"]),
            text(row.get("display_name")),
            window=number(row.get("max_input_tokens")),
            output=number(row.get("max_tokens")),
            vision=_supported(at(row, "capabilities", "image_input")),
            pdf=_supported(at(row, "capabilities", "pdf_input")),
            reasoning=_supported(at(row, "capabilities", "thinking")),
        )
        for row in objects(at(plain, "data"))[:MOST]
        if _is_name(row.get("id"))
    ]


def ollama_names(plain: Any) -> list[str]:
    """The names in Ollama's list of what is there."""
    names = (text(row.get("model")) or text(row.get("name")) for row in objects(at(plain, "models"))[:MOST])
    return [name for name in names if _is_name(name)]


def ollama_model(name: str, shown: Any) -> Listed:
    """What Ollama shows of a model; the window is the largest it can be given."""
    info = at(shown, "model_info")
    pairs = info.items() if isinstance(info, dict) else ()
    lengths = [number(value) for key, value in pairs if key.endswith(".context_length")]
    can = at(shown, "capabilities")
    if not isinstance(can, list):
        return Listed(name, window=next(iter(lengths), None))
    return Listed(
        name,
        window=next(iter(lengths), None),
        tools="tools" in can,
        vision="vision" in can,
        pdf=False,
        reasoning="thinking" in can,
    )


def _is_name(value: Any) -> bool:
    """Can people and addresses bear it?"""
    return isinstance(value, str) and 0 < len(value) <= LONGEST and value.isprintable()


def _chat_row(row: dict[str, Any]) -> Listed:
    can = row.get("capabilities")
    if isinstance(can, list):
        can = {name: True for name in can if isinstance(name, str)}
    can = can if isinstance(can, dict) else {}
    takes = row.get("supported_parameters")
    sees = at(row, "architecture", "input_modalities")
    return Listed(
        text(row.get("id")) or text(row.get("name")),
        text(row.get("display_name")) or (text(row.get("name")) if row.get("id") else ""),
        window=_first(row, WINDOWS),
        output=_first(row, OUTPUTS),
        price_in=_price(at(row, "pricing", "prompt")),
        price_out=_price(at(row, "pricing", "completion")),
        price_cached=_price(at(row, "pricing", "input_cache_read")),
        tools="tools" in takes if isinstance(takes, list) else _said(can, "function_calling", "tool_use", "tools"),
        vision="image" in sees if isinstance(sees, list) else _said(can, "vision", "multimodal"),
        pdf="file" in sees if isinstance(sees, list) else None,
        reasoning="reasoning" in takes if isinstance(takes, list) else _said(can, "reasoning"),
    )


def _first(row: dict[str, Any], paths: Iterable[tuple[str, ...]]) -> int | None:
    return next((found for path in paths if (found := number(at(row, *path)))), None)


def _said(can: dict[str, Any], *names: str) -> bool | None:
    return next((bool(can[name]) for name in names if name in can), None)


def _supported(plain: Any) -> bool | None:
    value = plain.get("supported") if isinstance(plain, dict) else plain
    return value if isinstance(value, bool) else None


def _price(value: Any) -> float | None:
    """Dollars for a million, from dollars for one; a negative price means that it varies."""
    try:
        price = float(value) * 1_000_000
    except (TypeError, ValueError):
        return None
    return round(price, 6) if 0 <= price < 1_000_000 else None
