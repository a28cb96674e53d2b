"""Names that data folders used before the first release, and the names that replace them.

Migration 16 and the salvage of older files use these tables. They describe the past, so they never change.
"""

import json
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

SLICE = 2_000  # events in memory at a time
VERSION = 16  # the first schema version with the present names

MODES = {"accept": "accept-edits", "ask": "ask-all", "edits": "ask", "trust": "auto"}
# Reasons that are stored with approved calls.
MODE_REASONS = {f"mode: {old}": f"mode: {new}" for old, new in MODES.items()}
USER = {"person": "user"}
STEP_KINDS = {
    "person": "user",
    "guide": "instructions",
    "consent": "permission",
    "problem": "issue",
    "verdict": "rating",
    "recall": "read_back",
    "check": "check_command",
}
METRICS = {
    "rounds": "turns",
    "folded": "truncated",
    "dropped": "compacted",
    "outside": "untrusted",
    "exit": "exit_code",
    "children": "subagents",
}
HOOK_MOMENTS = {  # also used in the user's hooks.toml files
    "run start": "run_start",
    "run end": "run_end",
    "before call": "before_call",
    "after call": "after_call",
    "end": "before_end",
}
PROPOSAL_STATES = {"open": "pending", "kept": "accepted"}
# Values of columns, as table, column, {old value: new value}.
VALUES: tuple[tuple[str, str, Mapping[str, str]], ...] = (
    ("session", "mode", MODES),
    ("session", "activity_kind", STEP_KINDS),
    ("schedule", "mode", MODES),
    ("step", "kind", STEP_KINDS),
    ("rule", "author", USER),
    ("skill_version", "author", USER),
    ("proposal", "author", USER),
    ("proposal", "resolved_by", USER),
    ("proposal", "state", PROPOSAL_STATES),
    ("proposal", "action", {"file": "write_file"}),
    ("memory", "author", USER),
    ("memory_version", "author", USER),
    ("memory_version", "action", {"kept": "created", "seen again": "reinforced", "linked": "conflict_found"}),
)
KINDS = {
    "session_opened": "session_created",
    "scheduled": "schedule_triggered",
    "worktree_made": "worktree_created",
    "model_chosen": "model_changed",
    "calls_written": "text_calls_enabled",
    "person_spoke": "user_message",
    "reply_cut": "reply_interrupted",
    "retried": "request_retried",
    "command_ended": "background_command_ended",
    "delegated": "subagent_started",
    "delegate_ended": "subagent_ended",
    "question_held": "question_answer_started",
    "consent_asked": "permission_requested",
    "consent_given": "permission_decided",
    "mode_set": "mode_changed",
    "problem_reported": "issue_reported",
    "tainted": "untrusted_content_read",
    "memory_recalled": "memories_recalled",
    "memory_failed": "memory_operation_failed",
    "proposal_made": "proposal_created",
    "proposal_settled": "proposal_state_changed",
    "sandbox_proven": "sandbox_tested",
    "limit_met": "limit_threshold_reached",
    "nudged": "harness_message",
    "verdict_given": "run_rated",
    "record_kept": "unrecognized_records_kept",
    "transcript_read": "transcript_imported",
    "agent_joined": "external_agent_started",
    "agent_turned": "external_agent_setting_changed",
}
# Fields of each event and of the objects in it: {class name at the time: {old field: new field}}.
FIELDS: dict[str, dict[str, str]] = {
    "SessionOpened": {"workspace": "folder", "called": "subagent", "source": "imported_from"},
    "SessionForked": {"origin": "forked_from", "until": "until_seq", "why": "reason"},
    "Scheduled": {"schedule": "schedule_id", "every": "interval", "missed": "missed_count"},
    "WorktreeMade": {"base": "base_commit"},
    "RunStarted": {
        "max_rounds": "max_turns",
        "attended": "interactive",
        "agent": "profile",
        "system": "system_prompt",
        "guides": "instruction_files",
        "role": "script_role",
        "schema": "output_schema",
        "taint": "untrusted_sources",
        "unanswered": "on_unanswered",
        "answer_minutes": "answer_timeout_minutes",
        "in_words": "text_calls",
        "max_output": "max_output_tokens",
        "review": "reviewed_session",
        "without": "excluded",
    },
    "Guide": {"told": "included", "trouble": "error"},
    "ModelChosen": {"max_output": "max_output_tokens"},
    "CallsWritten": {"why": "reason"},
    "QueueChanged": {"did": "action", "target": "target_seq"},
    "RequestSent": {"round": "turn", "why": "reason", "window": "context_window", "role": "purpose"},
    "ContextCompacted": {
        "why": "reason",
        "before": "tokens_before",
        "after": "tokens_after",
        "folded": "truncated_calls",
        "first": "first_seq",
        "until": "until_seq",
        "kept": "kept_seqs",
        "dropped": "compacted_messages",
        "trouble": "error",
    },
    "Usage": {"cached": "cache_read", "written": "cache_write"},
    "Trouble": {"what": "message", "why": "cause", "do": "fix"},
    "Replied": {"stop": "stop_reason", "carry": "provider_state"},
    "ReplyCut": {"why": "reason"},
    "Retried": {"trouble": "error"},
    "CallStarted": {"step": "step_kind"},
    "CallRefused": {"rule": "rule_id"},
    "ToolReturned": {"unkept": "unrestorable"},
    "CommandEnded": {"why": "reason"},
    "Delegated": {"child": "child_session", "called": "subagent"},
    "DelegateEnded": {"child": "child_session", "rounds": "turns"},
    "Question": {
        "why": "reason",
        "asked": "asked_at",
        "several": "multi_select",
        "parts": "sub_questions",
        "expires_s": "timeout_s",
        "then": "on_unanswered",
        "default": "default_answer",
        "server": "mcp_server",
        "forms": "all_questions",
    },
    "Part": {"several": "multi_select"},
    "Answer": {"more": "more_options", "parts": "sub_answers", "by": "answered_by"},
    "Said": {"asked": "question"},
    "ConsentRequest": {
        "level": "sandbox_level",
        "why": "reason",
        "rule": "rule_id",
        "touches": "access",
        "taint": "untrusted_sources",
        "undoable": "reversible",
        "agent": "subagent",
        "opens": "protected_paths",
    },
    "ConsentOption": {"lasts": "persistent"},
    "ConsentGiven": {"pattern": "patterns", "by": "decided_by", "rules": "rule_ids", "option": "option_id"},
    "CallAllowed": {"cause": "reason", "rule": "rule_id"},
    "ProblemReported": {"what": "description"},
    "MemoryRecalled": {"to": "message_seq", "items": "memories", "told": "text", "left": "omitted"},
    "Recalled": {"memory": "memory_id", "why": "reason", "words": "keyword_score", "whole": "in_full"},
    "MemoryFailed": {"doing": "operation", "trouble": "error"},
    "ProposalMade": {
        "of": "target_kind",
        "what": "action",
        "base": "base_version",
        "about": "details",
        "taint": "untrusted_sources",
        "by": "author",
    },
    "ProposalSettled": {"by": "decided_by"},
    "SandboxProven": {"open": "escapes", "known": "known_gaps"},
    "HookRan": {"moment": "trigger", "why": "reason", "refused": "blocked"},
    "LimitMet": {"share": "percent"},
    "Nudged": {"why": "reason"},
    "RunPaused": {"why": "reason", "trouble": "error"},
    "RunInterrupted": {"why": "reason", "calls": "call_ids"},
    "RunResumed": {"settled": "resolution"},
    "RunEnded": {"trouble": "error"},
    "FilesRewound": {"to": "to_seq", "left": "skipped", "undoes": "undoes_seq"},
    "Rewound": {"mode": "mode_before"},
    "VerdictGiven": {"number": "run_number", "verdict": "rating"},
    "RecordKept": {"form": "record_type"},
    "TranscriptRead": {"place": "location", "kept": "unrecognized", "more": "partial"},
    "AgentJoined": {"theirs": "agent_session_id", "remembers": "has_history"},
    "AgentSetting": {"plain": "is_config_option", "said": "value_name"},
    "AgentTurned": {"setting": "setting_id"},
}
# Fields, by old name, that hold an object or a list of objects: {class name: {field: class name of the object}}.
NESTED: dict[str, dict[str, str]] = {
    "RunStarted": {"guides": "Guide"},
    "ContextCompacted": {"usage": "Usage", "trouble": "Trouble"},
    "Replied": {"usage": "Usage"},
    "Retried": {"trouble": "Trouble"},
    "QuestionAsked": {"question": "Question"},
    "Question": {"options": "Option", "parts": "Part"},
    "Part": {"options": "Option"},
    "QuestionAnswered": {"answer": "Answer"},
    "Answer": {"parts": "Said"},
    "ConsentAsked": {"request": "ConsentRequest"},
    "ConsentRequest": {"options": "ConsentOption"},
    "MemoryRecalled": {"items": "Recalled"},
    "MemoryFailed": {"trouble": "Trouble"},
    "RunPaused": {"trouble": "Trouble"},
    "RunEnded": {"trouble": "Trouble"},
    "FilesRewound": {"files": "Rewound"},
    "AgentJoined": {"settings": "AgentSetting"},
    "AgentSetting": {"options": "AgentOption"},
}
CLASSES = {
    "session_opened": "SessionOpened",
    "session_forked": "SessionForked",
    "scheduled": "Scheduled",
    "worktree_made": "WorktreeMade",
    "run_started": "RunStarted",
    "model_chosen": "ModelChosen",
    "calls_written": "CallsWritten",
    "person_spoke": "PersonSpoke",
    "queue_changed": "QueueChanged",
    "request_sent": "RequestSent",
    "context_compacted": "ContextCompacted",
    "replied": "Replied",
    "reply_cut": "ReplyCut",
    "retried": "Retried",
    "call_started": "CallStarted",
    "call_refused": "CallRefused",
    "file_changed": "FileChanged",
    "tool_returned": "ToolReturned",
    "command_ended": "CommandEnded",
    "delegated": "Delegated",
    "delegate_ended": "DelegateEnded",
    "question_asked": "QuestionAsked",
    "question_answered": "QuestionAnswered",
    "question_held": "QuestionHeld",
    "consent_asked": "ConsentAsked",
    "consent_given": "ConsentGiven",
    "call_allowed": "CallAllowed",
    "mode_set": "ModeSet",
    "decision_made": "DecisionMade",
    "problem_reported": "ProblemReported",
    "tainted": "Tainted",
    "skill_used": "SkillUsed",
    "memory_recalled": "MemoryRecalled",
    "memory_failed": "MemoryFailed",
    "proposal_made": "ProposalMade",
    "proposal_settled": "ProposalSettled",
    "sandbox_proven": "SandboxProven",
    "hook_ran": "HookRan",
    "limit_met": "LimitMet",
    "limit_raised": "LimitRaised",
    "nudged": "Nudged",
    "run_paused": "RunPaused",
    "run_interrupted": "RunInterrupted",
    "run_resumed": "RunResumed",
    "run_ended": "RunEnded",
    "files_rewound": "FilesRewound",
    "verdict_given": "VerdictGiven",
    "session_renamed": "SessionRenamed",
    "session_pinned": "SessionPinned",
    "session_archived": "SessionArchived",
    "session_trashed": "SessionTrashed",
    "record_kept": "RecordKept",
    "transcript_read": "TranscriptRead",
    "agent_joined": "AgentJoined",
    "agent_turned": "AgentTurned",
}
VALUES_IN_EVENTS: dict[tuple[str, str], Mapping[str, str]] = {
    ("run_started", "mode"): MODES,
    ("mode_set", "mode"): MODES,
    ("session_forked", "why"): {"model": "rerun"},
    ("queue_changed", "did"): {"taken back": "removed", "put back": "restored"},
    ("request_sent", "role"): {"agent": "external_agent"},
    ("hook_ran", "moment"): HOOK_MOMENTS,
    ("limit_met", "limit"): {"rounds": "turns"},
    ("limit_raised", "limit"): {"rounds": "turns"},
    ("run_resumed", "settled"): {"again": "retry", "end": "abort"},
    ("verdict_given", "by"): USER,
    ("agent_turned", "by"): USER,
    ("consent_given", "by"): USER | MODE_REASONS,
    ("call_allowed", "cause"): MODE_REASONS,
    ("proposal_made", "by"): USER,
    ("proposal_made", "what"): {"file": "write_file"},
    ("proposal_settled", "by"): USER,
    ("proposal_settled", "state"): PROPOSAL_STATES,
    ("call_started", "step"): STEP_KINDS,
    ("Answer", "by"): {"person": "user", "record": "earlier_answer"},
    ("ConsentRequest", "touches"): {"nothing": "none", "reads": "read", "writes": "write", "runs": "execute"},
}
MEMORY_FIELDS = {"reach": "scope", "place": "scope_id", "around": "context", "parts": "fields"}
TOKENS = {"person": "user", "notes": "harness"}


def rename_values(db: sqlite3.Connection) -> None:
    """Rename the stored values of every table but the event log. The caller has renamed tables and columns before."""
    for table, column, values in VALUES:
        _replace(db, table, column, values)
    for old, new in METRICS.items():
        db.execute("UPDATE step SET metrics = replace(metrics, ?, ?)", (f'"{old}":', f'"{new}":'))
    db.execute("UPDATE step SET key = 'message-' || substr(key, 6) WHERE key GLOB 'said-[0-9]*'")
    _rename_outcome_fields(db)
    _rename_details(db)


def rename_events(db: sqlite3.Connection) -> None:
    """Rewrite every event whose kind or payload has a former name."""
    last = -(1 << 63)
    while rows := db.execute(
        "SELECT id, kind, payload FROM event WHERE id > ? ORDER BY id LIMIT ?", (last, SLICE)
    ).fetchall():
        last = rows[-1][0]
        changed = [
            (*renamed_event, key)
            for key, kind, payload in rows
            if (renamed_event := renamed_text(kind, payload)) != (kind, payload)
        ]
        db.executemany("UPDATE event SET kind = ?, payload = ? WHERE id = ?", changed)


def renamed_text(kind: str, payload: str) -> tuple[str, str]:
    """Return the present kind and payload of a stored event. A damaged payload is returned unchanged."""
    try:
        old_payload = json.loads(payload)
    except ValueError:
        return KINDS.get(kind, kind), payload
    if not isinstance(old_payload, dict):
        return KINDS.get(kind, kind), payload
    new_kind, new_payload = renamed(kind, old_payload)
    if new_payload == old_payload and list(new_payload) == list(old_payload):
        return new_kind, payload
    return new_kind, json.dumps(new_payload, ensure_ascii=False, separators=(",", ":"))


def renamed(kind: str, payload: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the present kind and payload for an event that was stored under former names."""
    if kind == "call_started" and "kind" in payload:  # this payload is so old that `step` is still called `kind`
        payload = {("step" if name == "kind" else name): value for name, value in payload.items()}
    new_payload = _fields(CLASSES.get(kind, kind), kind, payload)
    if kind == "request_sent" and "tokens" in new_payload:
        new_payload["tokens"] = {TOKENS.get(name, name): count for name, count in new_payload["tokens"].items()}
    if kind == "proposal_made" and isinstance(new_payload.get("details"), str):
        new_payload["details"] = _details(new_payload["details"])
    return KINDS.get(kind, kind), new_payload


def _details(text: str) -> str:
    """Rename the fields in the JSON text of a proposed memory."""
    try:
        old_details = json.loads(text)
    except ValueError:
        return text
    if not isinstance(old_details, dict):
        return text
    details = {MEMORY_FIELDS.get(name, name): value for name, value in old_details.items()}
    if isinstance(details.get("fields"), dict):
        details["fields"] = {
            ("rating" if name == "verdict" else name): value for name, value in details["fields"].items()
        }
    return json.dumps(details, ensure_ascii=False)


def _fields(owner: str, event_kind: str, old_fields: dict[str, Any]) -> dict[str, Any]:
    names, nested = FIELDS.get(owner, {}), NESTED.get(owner, {})
    new_fields = {}
    for name, value in old_fields.items():
        values = VALUES_IN_EVENTS.get((event_kind, name))
        if values and isinstance(value, str):
            value = values.get(value, value)
        if inner := nested.get(name):
            if isinstance(value, dict):
                value = _fields(inner, inner, value)
            elif isinstance(value, list):
                value = [_fields(inner, inner, item) if isinstance(item, dict) else item for item in value]
        new_fields[names.get(name, name)] = value
    return new_fields


def _replace(db: sqlite3.Connection, table: str, column: str, values: Mapping[str, str]) -> None:
    """Replace all values of a column in one statement, because some new values equal other old ones."""
    cases = " ".join("WHEN ? THEN ?" for _ in values)
    marks = ", ".join("?" for _ in values)
    pairs = [value for pair in values.items() for value in pair]
    db.execute(
        f"UPDATE {table} SET {column} = CASE {column} {cases} ELSE {column} END WHERE {column} IN ({marks})",
        (*pairs, *values),
    )


def _rename_details(db: sqlite3.Connection) -> None:
    rows = db.execute("SELECT id, details FROM proposal WHERE target_kind = 'memory' AND details <> ''").fetchall()
    db.executemany("UPDATE proposal SET details = ? WHERE id = ?", [(_details(text), name) for name, text in rows])


def _rename_outcome_fields(db: sqlite3.Connection) -> None:
    """Rename the field `verdict` in the outcomes of memories and of their versions."""

    def fields(plain: Any) -> Any:
        return {("rating" if name == "verdict" else name): value for name, value in plain.items()}

    def content(plain: Any) -> Any:
        return [*plain[:6], fields(plain[6]), *plain[7:]] if len(plain) > 6 and isinstance(plain[6], dict) else plain

    for table, column, key, change in (
        ("memory", "fields", "key", fields),
        ("memory_version", "content", "rowid", content),
    ):
        _rewrite(db, table, column, key, change)


def _rewrite(db: sqlite3.Connection, table: str, column: str, key: str, change: Callable[[Any], Any]) -> None:
    rows = db.execute(f"SELECT {key}, {column} FROM {table} WHERE {column} LIKE '%\"verdict\"%'").fetchall()
    updates = [(json.dumps(change(json.loads(text)), ensure_ascii=False), row_key) for row_key, text in rows]
    db.executemany(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", updates)
