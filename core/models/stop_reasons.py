"""Normalizes stop reasons of providers to `length`, `filtered`, `refused` or `pause`; "" if the model was done.

The reason `repeated` is Journeyman's own: it stopped a reply that repeated itself endlessly.
"""

REPEATED = "repeated"

STOP_REASONS = {
    "stop": "",
    "end": "",
    "eos": "",
    "end_turn": "",
    "stop_sequence": "",
    "tool_calls": "",
    "tool_use": "",
    "function_call": "",
    "completed": "",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "filtered",
    "refusal": "refused",
    "pause_turn": "pause",
}

STOP_NOTES = {
    REPEATED: "The reply was stopped here because it repeated the same passage without end.",
    "length": "The reply ends here because it reached the output limit.",
    "filtered": "The provider's content filter blocked the rest of the reply.",
}


def normalize_stop_reason(reason: str) -> str:
    """Return the normalized stop reason; an unknown reason is returned unchanged."""
    return STOP_REASONS.get(reason.lower(), reason)
