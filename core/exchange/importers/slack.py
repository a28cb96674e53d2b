"""Imports the channels of a Slack export, which is a ZIP or the folder that it was unpacked to."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.exchange.importers.export_archive import is_zip, member_names, read_documents
from core.exchange.importers.message_parts import dict_or_empty, dicts
from core.exchange.importers.record import (
    OpenSession,
    SessionDetails,
    TranscriptRecord,
    derive_key,
    details_record,
    list_records,
    parse_time,
)
from core.exchange.importers.session_builder import SessionBuilder

INDEXES = ("channels.json", "groups.json", "dms.json", "mpims.json")
MENTION = re.compile(r"<@(\w+)(?:\|[^>]*)?>")
LINK = re.compile(r"<(https?://[^|>]+)(?:\|([^>]*))?>")


class SlackImporter:
    """Imports each channel as a session. Each message starts with the name of its author."""

    agent = "Slack"
    default_locations: tuple[str, ...] = ()

    def recognizes(self, path: Path, head: bytes) -> bool:
        if is_zip(head):
            return {"channels.json", "users.json"} <= set(member_names(path))
        return path.name in INDEXES and path.with_name("users.json").is_file()

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        people = {str(user.get("id")): _name(user) for user in _entries(path, "users.json")}
        names = {str(entry.get("id")): entry for index in INDEXES for entry in _entries(path, index)}
        titles = {_folder(entry): _title(entry, people) for entry in names.values()}
        export = derive_key(path, path.stem if path.suffix == ".zip" else path.resolve().parent.name)
        channel, size = "", path.stat().st_size
        for name, document in read_documents(path, "*/*.json"):
            folder = name.partition("/")[0]
            if folder not in titles:
                continue  # no channel: for example, the folder of a canvas
            if folder != channel:
                channel = folder
                yield details_record(f"{export} {folder}", {"title": titles[folder]})
            messages = dicts(document)
            times = [message.get("ts") for message in messages]
            records = list_records(f"{export} {folder}", messages, file_bytes=size, identities=times)
            for record, message in zip(records, messages, strict=True):
                yield record._replace(value={"message": message, "people": people})

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        if isinstance(record.value, SessionDetails):
            builder.set_details(**record.value.values)
            return True
        message, people = record.value["message"], record.value["people"]
        text = _text(message, people)
        profile = dict_or_empty(message.get("user_profile"))
        author = (
            people.get(str(message.get("user"))) or profile.get("real_name") or message.get("username") or "Unknown"
        )
        if not text or message.get("type") != "message" or message.get("subtype") in ("channel_join", "channel_leave"):
            return False
        mark = " (in a thread)" if message.get("thread_ts") not in (None, message.get("ts")) else ""
        ts = message.get("ts")
        builder.add_user_message(f"{author}{mark}: {text}", parse_time(float(ts)) if ts else 0)
        return True


def _entries(path: Path, name: str) -> list[dict[str, Any]]:
    documents = [document for _, document in read_documents(path, name) if isinstance(document, list)]
    return [entry for document in documents for entry in document if isinstance(entry, dict)]


def _folder(entry: dict[str, Any]) -> str:
    """Return the name of a channel's folder in the export. For a direct message, which has no name, it is the ID."""
    return str(entry.get("name") or entry.get("id"))


def _title(entry: dict[str, Any], people: dict[str, str]) -> str:
    members = entry.get("members")
    if entry.get("name") or not isinstance(members, list):
        return f"#{_folder(entry)}"
    return ", ".join(people.get(str(member), str(member)) for member in members)


def _name(user: dict[str, Any]) -> str:
    profile = dict_or_empty(user.get("profile"))
    return str(
        profile.get("display_name")
        or user.get("real_name")
        or profile.get("real_name")
        or user.get("name")
        or user.get("id")
    )


def _text(message: dict[str, Any], people: dict[str, str]) -> str:
    """Return the text of a message, with Slack's codes replaced by names and addresses, and the names of its files."""
    text = MENTION.sub(lambda match: f"@{people.get(match.group(1), match.group(1))}", str(message.get("text") or ""))
    text = LINK.sub(lambda match: f"{match.group(2)} ({match.group(1)})" if match.group(2) else match.group(1), text)
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    files = message.get("files")
    names = (dict_or_empty(entry).get("name") for entry in (files if isinstance(files, list) else []))
    return "\n".join(filter(None, (text, *(f"[{name}]" for name in names if name))))
