"""Model selection: the first matching rule counts, and a named model takes precedence."""

import pytest

from core.domain.tiers import AUTO, NO_TIERS, ModelChoice, TierCondition, TierRule, Tiers, choose_model

THREE = Tiers(("s", "s2"), ("m",), ("f", "f2"))


@pytest.mark.parametrize(
    ("moments", "model", "tier"),
    [
        ((), "m", "mid"),
        (("first_step",), "f", "frontier"),
        (("after_failure",), "f", "frontier"),
        (("first_step", "vision"), "f", "frontier"),
        (("summary",), "s", "small"),
        (("review",), "s", "small"),
    ],
)
def test_rules_choose_the_tier(moments: tuple[TierCondition, ...], model: str, tier: str) -> None:
    chosen = choose_model(THREE, AUTO, moments)
    assert (chosen.model, chosen.tier) == (model, tier) and chosen.reason


def test_rules_of_the_user_count_in_their_order_and_need_none_for_the_rest() -> None:
    rules = (TierRule("vision", "small"), TierRule("first_step", "frontier"))
    tiers = Tiers(THREE.small, THREE.mid, THREE.frontier, rules)
    assert choose_model(tiers, AUTO, ("first_step", "vision")).tier == "small"
    assert choose_model(tiers, AUTO, ("first_step",)).tier == "frontier"
    assert choose_model(tiers, AUTO, ()).tier == "mid"


def test_a_named_model_works_and_leaves_summaries_to_the_small_one() -> None:
    assert choose_model(THREE, "mine", ("first_step",)) == ModelChoice("mine")
    assert choose_model(THREE, "mine", ("summary",)) == ModelChoice("s", "small", "a summary", ("s2",))
    assert choose_model(THREE, "frontier", ()) == ModelChoice("f", "frontier", "chosen for this session", ("f2",))


def test_one_model_for_every_tier_is_not_a_choice() -> None:
    several: list[tuple[TierCondition, ...]] = [(), ("summary",), ("first_step", "after_failure")]
    for moments in several:
        assert choose_model(NO_TIERS, "mine", moments) == ModelChoice("mine")


def test_an_empty_tier_is_served_by_its_neighbor() -> None:
    only = Tiers(mid=("m",))
    assert choose_model(only, AUTO, ("summary",)).model == "m" == choose_model(only, AUTO, ("first_step",)).model


def test_the_user_edits_the_tiers() -> None:
    cheap = Tiers(("s",), ("m",), ("f",), (TierRule("after_failure", "mid"), TierRule("any", "small")))
    assert (
        choose_model(cheap, AUTO, ("first_step",)).model == "s"
        and choose_model(cheap, AUTO, ("after_failure",)).model == "m"
    )
