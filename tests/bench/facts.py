"""Sentences made up for measuring memory, and questions to each: in its own words, in other forms, in other words."""

import random
from dataclasses import dataclass

SERVICES = ("billing", "search", "login", "mail", "report", "upload", "payment", "catalog", "ledger", "notice")
PARTS = ("alder", "birch", "cedar", "dogwood", "elm", "fir", "gorse", "hazel", "iris", "juniper", "larch", "maple")
PLACES = ("staging", "production", "testing", "archive", "mirror", "preview")
STORES = ("a queue", "a table", "a bucket", "a cache", "an index", "a journal")
# (verb in the sentence, the same verb in another form, a word that means about the same)
VERBS = (
    ("deploys", "deployed", "releases"), ("copies", "copying", "duplicates"), ("cleans", "cleaning", "tidies"),
    ("checks", "checked", "verifies"), ("collects", "collecting", "gathers"), ("sends", "sending", "transmits"),
    ("compresses", "compressing", "shrinks"), ("encrypts", "encrypting", "scrambles"), ("turns", "turning", "cycles"),
    ("builds", "built", "assembles"), ("writes", "wrote", "stores"), ("keeps", "kept", "retains"),
)  # fmt: skip
# (thing, the same in another form, a word that means about the same)
THINGS = (
    ("invoices", "invoice", "bills"), ("backups", "backup", "safety copies"), ("messages", "message", "letters"),
    ("pictures", "picture", "images"), ("passports", "passport", "papers"), ("orders", "ordering", "purchases"),
    ("certificates", "certificate", "credentials"), ("statistics", "statistic", "figures"),
    ("contracts", "contract", "agreements"), ("addresses", "address", "locations"),
    ("translations", "translation", "renderings"), ("measurements", "measurement", "readings"),
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class Fact:
    """A sentence, and three questions that only it answers."""

    text: str
    exact: str
    inflected: str
    paraphrase: str


def facts(count: int, seed: int = 7) -> list[Fact]:
    """All different: each speaks of a part with a number of its own."""
    chance = random.Random(seed)
    found = []
    for number in range(count):
        service, place, store, day = (chance.choice(one) for one in (SERVICES, PLACES, STORES, DAYS))
        verb, verb_form, verb_like = chance.choice(VERBS)
        thing, thing_form, thing_like = chance.choice(THINGS)
        part = f"{chance.choice(PARTS)}{number % 997}"
        line = number // 997
        text = f"On {day} the {service} service {verb} its {thing} from {part} to {store} of {place}, lane {line}."
        found.append(
            Fact(
                text,
                f"{service} service {verb} {thing} {part} {store} {place} lane {line}",
                f"{service} services {verb_form} {thing_form} {part} {store} {place} lanes {line}",
                f"{service} program {verb_like} {thing_like} {part} lane {line}",
            )
        )
    return found
