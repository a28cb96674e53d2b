"""Which model does which work: tiers, and a table of rules that a person can edit."""

from dataclasses import dataclass
from typing import Final, Literal

Tier = Literal["small", "mid", "frontier"]
Moment = Literal["summary", "review", "vision", "failure", "first", "any"]

AUTO: Final = "auto"  # the model of a run that lets the rules choose for each step
NAMES: Final = frozenset({AUTO, "small", "mid", "frontier"})  # what may stand where a model is named
WHY: Final[dict[Moment, str]] = {
    "summary": "a summary",
    "review": "a review",
    "vision": "there are pictures to look at",
    "failure": "the last step failed",
    "first": "the first step of the run",
    "any": "most work",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """At such a moment this tier works."""

    when: Moment
    tier: Tier


USUAL: Final = (
    Rule("summary", "small"),
    Rule("review", "small"),
    Rule("vision", "frontier"),
    Rule("failure", "frontier"),
    Rule("first", "frontier"),
    Rule("any", "mid"),
)


@dataclass(frozen=True, slots=True)
class Tiers:
    """The models of each tier, the next where one fails, and the rules: the first that fits is followed."""

    small: tuple[str, ...] = ()
    mid: tuple[str, ...] = ()
    frontier: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = USUAL

    def models(self, tier: str) -> tuple[str, ...]:
        """Those of a tier; of a tier without any, those of its neighbours, the cheaper first."""
        order: dict[str, tuple[tuple[str, ...], ...]] = {
            "small": (self.small, self.mid, self.frontier),
            "mid": (self.mid, self.small, self.frontier),
            "frontier": (self.frontier, self.mid, self.small),
        }
        return next((found for found in order.get(tier, ()) if found), ())


ONE_FOR_ALL: Final = Tiers()


@dataclass(frozen=True, slots=True)
class Choice:
    """A model, and why it: empty where there was nothing to choose. `others` come after it where it fails."""

    model: str
    tier: str = ""
    why: str = ""
    others: tuple[str, ...] = ()


def choose(tiers: Tiers, model: str, moments: tuple[Moment, ...]) -> Choice:
    """Who works at this moment of a run that was started with `model`: a model's name, a tier's, or `auto`.

    A model that was named does all the work but summaries and reviews, which go to the small tier where there is one.
    """
    aside = any(moment in ("summary", "review") for moment in moments)
    if model in ("small", "mid", "frontier") and not aside:
        found = tiers.models(model)
        return _choice(found, model, "chosen for this session") if found else Choice(model)
    if model == AUTO or aside:
        for rule in tiers.rules:
            if (rule.when in moments or rule.when == "any") and (found := tiers.models(rule.tier)):
                return _choice(found, rule.tier, WHY[rule.when])
    return Choice(model)


def _choice(found: tuple[str, ...], tier: str, why: str) -> Choice:
    return Choice(found[0], tier, why, found[1:])
