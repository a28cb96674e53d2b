"""The reason for which a call is not run is shown to the user in other words than the model is given."""

import pytest

from core.domain import refusals
from core.domain.refusals import Refusal, text_for_user

REFUSALS = [value for value in vars(refusals).values() if isinstance(value, Refusal)]


@pytest.mark.parametrize("refusal", REFUSALS)
def test_each_reason_for_the_model_has_one_for_the_user(refusal: Refusal) -> None:
    details = "a {b} [c]."
    assert text_for_user(refusal.text_for_model(details)) == refusal.for_user.format(details)
    assert not {"user", "[Not", "[The"} & set(refusal.for_user.split())


def test_another_reason_is_shown_as_it_is() -> None:
    assert text_for_user(".env contains secrets.") == ".env contains secrets."
