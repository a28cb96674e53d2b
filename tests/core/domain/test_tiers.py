"""Which model works at which moment: the first rule that fits, a named model before all."""

import pytest

from core.domain.tiers import AUTO, ONE_FOR_ALL, Choice, Moment, Rule, Tiers, choose

THREE = Tiers(("s", "s2"), ("m",), ("f", "f2"))


@pytest.mark.parametrize(
    ("moments", "model", "tier"),
    [
        ((), "m", "mid"),
        (("first",), "f", "frontier"),
        (("failure",), "f", "frontier"),
        (("first", "vision"), "f", "frontier"),
        (("summary",), "s", "small"),
        (("review",), "s", "small"),
    ],
)
def test_rules_choose(moments: tuple[Moment, ...], model: str, tier: str) -> None:
    chosen = choose(THREE, AUTO, moments)
    assert (chosen.model, chosen.tier) == (model, tier) and chosen.why


def test_a_named_model_does_the_work_and_leaves_summaries_to_the_small_one() -> None:
    assert choose(THREE, "mine", ("first",)) == Choice("mine")
    assert choose(THREE, "mine", ("summary",)) == Choice("s", "small", "a summary", ("s2",))
    assert choose(THREE, "frontier", ()) == Choice("f", "frontier", "chosen for this session", ("f2",))


def test_one_model_for_all_is_not_a_choice() -> None:
    several: list[tuple[Moment, ...]] = [(), ("summary",), ("first", "failure")]
    for moments in several:
        assert choose(ONE_FOR_ALL, "mine", moments) == Choice("mine")


def test_a_tier_without_models_is_worked_by_its_neighbour() -> None:
    only = Tiers(mid=("m",))
    assert choose(only, AUTO, ("summary",)).model == "m" == choose(only, AUTO, ("first",)).model


def test_a_person_edits_the_table() -> None:
    cheap = Tiers(("s",), ("m",), ("f",), (Rule("failure", "mid"), Rule("any", "small")))
    assert choose(cheap, AUTO, ("first",)).model == "s" and choose(cheap, AUTO, ("failure",)).model == "m"
