"""The verbs at the start of timeline rows. Imports little, so that the command line can print rows quickly."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

VERBS: "Mapping[str, tuple[str, str]]" = {
    # Row kind: (verb while in progress, verb afterwards)
    "run": ("Run", "Run"),
    "user": ("Queued", "You said"),
    "instructions": ("Read", "Read"),
    "thinking": ("Thinking", "Thought"),
    "reply": ("Replying", "Replied"),
    "read": ("Reading", "Read"),
    "write": ("Writing", "Wrote"),
    "edit": ("Editing", "Edited"),
    "find": ("Looking for", "Looked for"),
    "search": ("Searching", "Searched"),
    "command": ("Running", "Ran"),
    "check_command": ("Checking", "Checked"),
    "fetch": ("Fetching", "Fetched"),
    "search_web": ("Searching the web", "Searched the web"),
    "hook": ("Running your hook", "Ran your hook"),
    "todo": ("Planning", "Planned"),
    "decision": ("Deciding", "Decided"),
    "issue": ("Reporting", "Reported"),
    "delegate": ("Delegating", "Delegated"),
    "check_agent": ("Checking", "Checked"),
    "tool": ("Calling", "Called"),
    "refused": ("Not run", "Not run"),
    "question": ("Asks you", "You answered"),
    "permission": ("Asks to", "Asked to"),
    "interrupted": ("Interrupted", "Interrupted"),
    "paused": ("Paused", "Paused"),
    "notice": ("Notice", "Notice"),
    "compaction": ("Compacting", "Compacted"),
    "read_back": ("Reading back", "Read back"),
    "more_tools": ("Enabling", "Enabled"),
    "skill": ("Using the skill", "Used the skill"),
    "proposal": ("Proposing", "Proposed"),
    "memory": ("Recalling", "Recalled"),
    "remember": ("Remembering", "Remembered"),
    "forget": ("Forgetting", "Forgot"),
    "end": ("Ended", "Ended"),
    "fork": ("Forked from", "Forked from"),
    "rewind": ("Reverted", "Reverted"),
    "rating": ("Rating", "Rating"),
}

# Verbs for unsuccessful steps of these kinds, for which the usual past tense would be wrong.
UNSUCCESSFUL_VERBS: "Mapping[str, str]" = {
    "instructions": "Not read",
    "user": "Removed",
    "read": "Tried to read",
    "write": "Tried to write",
    "edit": "Tried to edit",
    "fetch": "Tried to fetch",
    "search_web": "Tried to search the web",
    "question": "Not answered",
    "skill": "Tried to use the skill",
    "remember": "Tried to remember",
    "forget": "Tried to forget",
}
UNSUCCESSFUL = frozenset({"failed", "stopped", "skipped", "unknown", "unknown-ended"})


def verb(kind: str, status: str) -> str:
    """Return the verb of a timeline row, which precedes its object."""
    present_tense, past_tense = VERBS.get(kind, VERBS["tool"])
    if status in {"running", "waiting", "queued"}:
        return present_tense
    return UNSUCCESSFUL_VERBS.get(kind, past_tense) if status in UNSUCCESSFUL else past_tense
