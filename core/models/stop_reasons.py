"""Normalization of stop reasons to length, filtered, refused or pause, or to an empty text if the model was done.

Two more reasons are Journeyman's own: it stopped a reply that repeated itself without end (`repeated`), or it made the
calls itself (`read_ahead`): reads before the first request, or the command that the user named as the check.
"""

REPEATED, READ_AHEAD = "repeated", "read_ahead"

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
    """Return the normalized stop reason of a provider; an unknown reason is returned unchanged."""
    return STOP_REASONS.get(reason.lower(), reason)
