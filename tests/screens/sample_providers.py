"""Sample providers for the screenshots of the settings."""

from typing import Final

from core.engine.services.providers import ModelRow, ProviderRow, ProvidersOverview

TABLE: Final = "price table"
PROVIDERS: Final = ProvidersOverview(
    (
        ProviderRow(
            "ollama", "Ollama", "http://localhost:11434", "ollama", "Journeyman", reachable=True,
            models=(
                ModelRow("ollama/qwen3:32b", context_window=40_960, price_in=0.0, price_out=0.0, tools=True),
                ModelRow("ollama/gemma3:4b", context_window=131_072, price_in=0.0, price_out=0.0, tools=False),
            ),
        ),
        ProviderRow(
            "anthropic", "Anthropic", "https://api.anthropic.com", "anthropic", "Journeyman", key_from="keyring",
            needs_key=True, key_variable="ANTHROPIC_API_KEY", reachable=True,
            models=(
                ModelRow(
                    "anthropic/claude-sonnet-4-5", context_window=200_000, price_in=3.0, price_out=15.0,
                    price_from=TABLE, tools=True,
                ),
            ),
        ),
        ProviderRow(
            "openai", "OpenAI", "https://api.openai.com/v1", "responses", "Journeyman", needs_key=True,
            key_variable="OPENAI_API_KEY",
        ),
        ProviderRow("lmstudio", "LM Studio", "http://localhost:1234/v1", "chat", "Journeyman", reachable=False),
    ),
    "ollama/qwen3:32b", "Secret Service", None, "2026-11-01", "models.dev", "", "",
)  # fmt: skip
