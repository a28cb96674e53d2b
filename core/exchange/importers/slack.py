"""Imports the channels of a Slack export, which is a ZIP or the folder that it was unpacked to."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

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
MENTION = re.compile(r"<@(?P<user>\w+)(?:\|[^>]*)?>")
LINK = re.compile(r"<(?P<url>https?://[^|>]+)(?:\|(?P<label>[^>]*))?>")


class _ChannelMessage(NamedTuple):
    """A message of a channel as exported, and the names of all users by their IDs."""

    message: dict[str, Any]
    user_names: dict[str, str]


class SlackImporter:
    """Imports each channel as a session. Each message starts with the name of its author."""

    agent = "Slack"
    default_locations: tuple[str, ...] = ()

    def recognizes(self, path: Path, head: bytes) -> bool:
        if is_zip(head):
            return {"channels.json", "users.json"} <= set(member_names(path))
        return path.name in INDEXES and path.with_name("users.json").is_file()

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        user_names = {str(user.get("id")): _user_name(user) for user in _entries(path, "users.json")}
        channels = {str(channel.get("id")): channel for index in INDEXES for channel in _entries(path, index)}
        titles = {_folder(channel): _title(channel, user_names) for channel in channels.values()}
        export_key = derive_key(path, path.stem if path.suffix == ".zip" else path.resolve().parent.name)
        size = path.stat().st_size
        last_folder = ""
        for document in read_documents(path, "*/*.json"):
            folder = document.name.partition("/")[0]
            if folder not in titles:
                continue  # no channel: for example, the folder of a canvas
            key = f"{export_key} {folder}"
            if folder != last_folder:
                last_folder = folder
                yield details_record(key, {"title": titles[folder]})
            messages = dicts(document.value)
            times = [message.get("ts") for message in messages]
            records = list_records(key, messages, file_bytes=size, identities=times)
            for record, message in zip(records, messages, strict=True):
                yield record._replace(value=_ChannelMessage(message, user_names))

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        if isinstance(record.value, SessionDetails):
            builder.set_details(**record.value.values)
            return True
        message, user_names = record.value
        text = _text(message, user_names)
        if not text or message.get("type") != "message" or message.get("subtype") in ("channel_join", "channel_leave"):
            return False
        timestamp = message.get("ts")
        is_thread_reply = message.get("thread_ts") not in (None, timestamp)
        author = _author(message, user_names) + (" (in a thread)" if is_thread_reply else "")
        builder.add_user_message(f"{author}: {text}", _sent_at(timestamp))
        return True


def _entries(path: Path, name: str) -> list[dict[str, Any]]:
    return [entry for document in read_documents(path, name) for entry in dicts(document.value)]


def _folder(channel: dict[str, Any]) -> str:
    """Return the name of a channel's folder in the export. For a direct message, which has no name, it is the ID."""
    return str(channel.get("name") or channel.get("id"))


def _title(channel: dict[str, Any], user_names: dict[str, str]) -> str:
    members = channel.get("members")
    if channel.get("name") or not isinstance(members, list):
        return f"#{_folder(channel)}"
    return ", ".join(user_names.get(str(member), str(member)) for member in members)


def _author(message: dict[str, Any], user_names: dict[str, str]) -> str:
    profile = dict_or_empty(message.get("user_profile"))
    name = user_names.get(str(message.get("user"))) or profile.get("real_name") or message.get("username")
    return str(name or "Unknown")


def _sent_at(timestamp: object) -> int:
    """Return the time of a Slack timestamp such as "1700000000.000100", 0 if it is missing or malformed."""
    try:
        return parse_time(float(str(timestamp)))
    except ValueError:
        return 0


def _user_name(user: dict[str, Any]) -> str:
    profile = dict_or_empty(user.get("profile"))
    return str(
        profile.get("display_name")
        or user.get("real_name")
        or profile.get("real_name")
        or user.get("name")
        or user.get("id")
    )


def _text(message: dict[str, Any], user_names: dict[str, str]) -> str:
    """Return the text of a message, with Slack's codes replaced by names and addresses, and the names of its files."""

    def mention(match: re.Match[str]) -> str:
        return f"@{user_names.get(match['user'], match['user'])}"

    def link(match: re.Match[str]) -> str:
        return f"{match['label']} ({match['url']})" if match["label"] else match["url"]

    text = LINK.sub(link, MENTION.sub(mention, str(message.get("text") or "")))
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    file_names = [f"[{file['name']}]" for file in dicts(message.get("files")) if file.get("name")]
    return "\n".join(filter(None, (text, *file_names)))
