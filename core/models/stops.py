"""Why a reply ended: empty when the model was done, else length, filtered, refused, pause, or the server's word."""

STOPS = {
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

NOTES = {
    "length": "The reply ends here because it reached the most that one may have.",
    "filtered": "The server withheld the rest of the reply.",
}


def ended_as(reason: str) -> str:
    """Our word; a reason nobody knows stays as it is."""
    return STOPS.get(reason.lower(), reason)
