"""Model tiers, and the rules that select a tier for each request."""

from dataclasses import dataclass, replace
from typing import Final, Literal

Tier = Literal["small", "mid", "frontier"]
TierCondition = Literal["summary", "review", "vision", "after_failure", "first_step", "any"]

AUTO: Final = "auto"  # instead of a model name: the rules select a model for each request
TIER_NAMES: Final = frozenset({AUTO, "small", "mid", "frontier"})  # the names accepted instead of a model name
REASONS: Final[dict[TierCondition, str]] = {
    "summary": "a summary",
    "review": "a review",
    "vision": "there are images to look at",
    "after_failure": "the last step failed",
    "first_step": "the first step of the run",
    "any": "the default",
}


@dataclass(frozen=True, slots=True)
class TierRule:
    """Selects a tier for requests that meet a condition."""

    when: TierCondition
    tier: Tier


DEFAULT_RULES: Final = (
    TierRule("summary", "small"),
    TierRule("review", "small"),
    TierRule("vision", "frontier"),
    TierRule("after_failure", "frontier"),
    TierRule("first_step", "frontier"),
    TierRule("any", "mid"),
)


@dataclass(frozen=True, slots=True)
class Tiers:
    """The models of each tier, preferred ones first, and the rules that select a tier; the first match applies."""

    small: tuple[str, ...] = ()
    mid: tuple[str, ...] = ()
    frontier: tuple[str, ...] = ()
    rules: tuple[TierRule, ...] = DEFAULT_RULES

    def models(self, tier: str) -> tuple[str, ...]:
        """Return the models of a tier; if it has none, those of another tier, preferably a cheaper one."""
        order: dict[str, tuple[tuple[str, ...], ...]] = {
            "small": (self.small, self.mid, self.frontier),
            "mid": (self.mid, self.small, self.frontier),
            "frontier": (self.frontier, self.mid, self.small),
        }
        return next((models for models in order.get(tier, ()) if models), ())

    def without_provider(self, provider: str) -> "Tiers":
        """Return the tiers without the models of a provider."""
        small, mid, frontier = (
            tuple(model for model in models if not model.startswith(f"{provider}/"))
            for models in (self.small, self.mid, self.frontier)
        )
        return replace(self, small=small, mid=mid, frontier=frontier)


NO_TIERS: Final = Tiers()


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The model selected for a request. `reason` is "" without a choice; `fallbacks` are tried if the model fails."""

    model: str
    tier: str = ""
    reason: str = ""
    fallbacks: tuple[str, ...] = ()


def choose_model(tiers: Tiers, model: str, conditions: tuple[TierCondition, ...]) -> ModelChoice:
    """Select the model of a request, in a run that was started with `model`: a model name, a tier name or `auto`.

    A model given by name answers all requests except summaries and reviews, whose tier the rules select if any tier has
    models. `conditions` are the conditions that the request meets.
    """
    auxiliary = any(condition in ("summary", "review") for condition in conditions)
    if model in ("small", "mid", "frontier") and not auxiliary:
        models = tiers.models(model)
        return _choice(models, model, "chosen for this session") if models else ModelChoice(model)
    if model == AUTO or auxiliary:
        for rule in tiers.rules:
            if (rule.when in conditions or rule.when == "any") and (models := tiers.models(rule.tier)):
                return _choice(models, rule.tier, REASONS[rule.when])
        if model == AUTO and (models := tiers.models("mid")):  # no rule of the user applies to this request
            return _choice(models, "mid", REASONS["any"])
    return ModelChoice(model)


def _choice(models: tuple[str, ...], tier: str, reason: str) -> ModelChoice:
    return ModelChoice(models[0], tier, reason, models[1:])
