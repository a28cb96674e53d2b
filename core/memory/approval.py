"""Decides which new memories need the user's approval, whatever the permission mode and the learning policy are.

Later runs read a memory as if the user had said it. So text by an agent, a review or a file must not reach other
folders, or weaken what protects the user, without the user having seen it.
"""

import json
import re
import tomllib
from collections.abc import Collection
from functools import cache
from importlib import resources

from core.domain.memory import MemoryContent
from core.domain.proposal import Proposal
from core.domain.untrusted_file import source_texts
from core.memory.serialization import from_proposal
from core.memory.tokenizer import strip_invisible

_MIXED_ALPHABETS = re.compile(r"[a-z][\u0370-\u052f]|[\u0370-\u052f][a-z]", re.IGNORECASE)

_PERSONAL = re.compile(  # email addresses, and amounts such as $1,200.50, EUR 300, €5, 20 dollars and 2 million USD
    r"[\w.+-]+@[\w-]+\.[\w.-]*\w|[$€£¥]\s?\d[\d.,]*|\b(?:EUR|USD|GBP|CHF|JPY)\s?\d[\d.,]*(?!\w)|"
    r"\b\d[\d.,]*\s?(?:(?:[kM]|thousand|million|billion)\s?)?"
    r"(?:[$€£¥]|(?:EUR|USD|GBP|CHF|JPY|(?i:dollars?|euros?|cents?|francs?|yen))\b)"
)


@cache
def _topics() -> tuple[tuple[str, re.Pattern[str]], ...]:
    topics = tomllib.loads(resources.files("resources").joinpath("sensitive_topics.toml").read_text("utf-8"))
    return tuple(
        (topic, re.compile(rf"(?<![^\W_])(?:{'|'.join(words)})", re.IGNORECASE)) for topic, words in topics.items()
    )


def sensitive_topic(text: str) -> str:
    """Return the sensitive topic of a text with the words that reveal it, as a phrase; "" if there is none."""
    normalized = " ".join(strip_invisible(text).split())
    if match := _MIXED_ALPHABETS.search(normalized):
        return f"something in letters of several alphabets (“{match[0]}”)"
    for name, pattern in _topics():
        if match := pattern.search(normalized):
            return f"{name} (“{match[0][:60]}”)"
    return ""


def sensitive_topic_of(content: MemoryContent) -> str:
    """Return the sensitive topic of a memory, including its context and fields, as `sensitive_topic` does."""
    return sensitive_topic(" ".join((content.text, content.context, *content.fields.values())))


def approval_reasons(content: MemoryContent, untrusted_sources: Collection[str] = ()) -> tuple[str, ...]:
    """Return why the user must approve a memory that the user did not write; empty tuple if that is unnecessary."""
    reasons = []
    if untrusted_sources:
        reasons.append(
            f"It comes from a run that had read untrusted content: {', '.join(source_texts(untrusted_sources))}."
        )
    if content.scope == "everywhere":
        reasons.append("It would apply in every folder.")
    elif content.scope == "agent":
        reasons.append(f"It would apply wherever the agent {content.scope_id} works.")
    if topic := sensitive_topic_of(content):
        reasons.append(f"It is about {topic}.")
    if personal := _PERSONAL.search(f"{content.text} {' '.join(content.fields.values())}"):
        reasons.append(f"It contains a mail address or an amount of money ({personal[0][:40].strip()}).")
    return tuple(reasons)


def proposal_reasons(proposal: Proposal) -> tuple[str, ...]:
    """Return why the user must decide on a proposed memory, for display with the proposal."""
    try:
        content = from_proposal(proposal.text, proposal.details if proposal.action == "create" else "")
    except (TypeError, ValueError, json.JSONDecodeError):
        content = MemoryContent("knowledge", proposal.text, "session", "unknown")
    if proposal.action != "create":  # a change keeps the scope of the memory, whatever the proposal says
        content = MemoryContent(content.kind, content.text, "session", proposal.target)
    return approval_reasons(content, proposal.untrusted_sources)
