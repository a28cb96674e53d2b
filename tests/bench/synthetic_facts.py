"""Synthetic sentences for measuring memory, each with an exact, an inflected and a paraphrased question.

No word is rare and no sentence contains a unique number: only the combination of words identifies a sentence.
"""

import random
from dataclasses import dataclass

# Each entry: the word in the sentence, an inflected form, and a near-synonym.
SERVICES = (
    ("billing", "billed", "charging"), ("search", "searches", "lookup"), ("login", "logins", "entrance"),
    ("mail", "mails", "postal"), ("report", "reporting", "chronicle"), ("upload", "uploads", "intake"),
    ("payment", "payments", "money"), ("catalog", "catalogs", "range"), ("ledger", "ledgers", "accounts"),
    ("notice", "notices", "bulletin"),
)  # fmt: skip
VERBS = (
    ("deploys", "deployed", "releases"), ("copies", "copying", "duplicates"), ("cleans", "cleaning", "tidies"),
    ("checks", "checked", "verifies"), ("collects", "collecting", "gathers"), ("sends", "sent", "transmits"),
    ("compresses", "compressing", "shrinks"), ("encrypts", "encrypting", "scrambles"), ("turns", "turning", "cycles"),
    ("builds", "built", "assembles"), ("writes", "wrote", "pens"), ("keeps", "kept", "retains"),
)  # fmt: skip
THINGS = (
    ("invoices", "invoice", "demands"), ("backups", "backup", "reserves"), ("messages", "message", "letters"),
    ("pictures", "picture", "images"), ("passports", "passport", "papers"), ("orders", "ordering", "purchases"),
    ("certificates", "certificate", "credentials"), ("statistics", "statistic", "figures"),
    ("contracts", "contract", "agreements"), ("addresses", "address", "whereabouts"),
    ("translations", "translation", "renderings"), ("measurements", "measurement", "readings"),
)  # fmt: skip
BUILDINGS = (
    ("factory", "factories", "plant"), ("gallery", "galleries", "hall"), ("library", "libraries", "bookroom"),
    ("harbour", "harbours", "port"), ("garden", "gardening", "orchard"), ("kitchen", "kitchens", "cookhouse"),
    ("museum", "museums", "exhibit"), ("bakery", "bakeries", "oven"), ("school", "schools", "academy"),
    ("station", "stations", "terminus"), ("theatre", "theatres", "stage"), ("workshop", "workshops", "forge"),
)  # fmt: skip
PLACES = ("staging", "production", "testing", "archive", "mirror", "preview")
STORES = ("queue", "table", "bucket", "cache", "index", "journal")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class Fact:
    """A sentence and three questions; the paraphrase replaces verb and object, so other sentences match it as well."""

    text: str
    exact: str
    inflected: str
    paraphrase: str


def make_facts(count: int, seed: int = 7) -> list[Fact]:
    """Return `count` distinct sentences; the same seed gives the same sentences."""
    chance = random.Random(seed)
    found: dict[str, Fact] = {}
    while len(found) < count:
        service, verb, thing, part = (chance.choice(one) for one in (SERVICES, VERBS, THINGS, BUILDINGS))
        place, store, day = (chance.choice(one) for one in (PLACES, STORES, DAYS))
        text = f"On {day} the {service[0]} of the {part[0]} {verb[0]} its {thing[0]} to the {store} of {place}."
        found[text] = Fact(
            text,
            f"{day} {service[0]} {part[0]} {verb[0]} {thing[0]} {store} {place}",
            f"{day}s {service[1]} {part[1]} {verb[1]} {thing[1]} {store}s {place}",
            f"{day} {service[0]} {part[0]} {verb[2]} {thing[2]} {store} {place}",
        )
    return list(found.values())
