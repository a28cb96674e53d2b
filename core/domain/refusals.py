"""The reasons for which a call is not run, in the words for the model and in those for the user."""

from typing import Final, NamedTuple

NOT_ALLOWED: Final = "The user did not allow this."


class Refusal(NamedTuple):
    """A reason for which a call is not run. `{}` in both texts stands for the same details."""

    for_model: str
    for_user: str

    def text_for_model(self, details: object = "") -> str:
        return self.for_model.format(details)


DENIED: Final = Refusal(f"{NOT_ALLOWED} Do it another way, or ask what they want instead.", "You did not allow this.")
DENIED_WITH_REASON: Final = Refusal(f"{NOT_ALLOWED} Their reason: {{}}", "You did not allow this: {}")
STALE_APPROVAL: Final = Refusal(
    "Not run: something has changed since the user approved this call. Call again to request approval again.",
    "Something has changed since you approved this, so the agent has to ask you again.",
)
INVALID_CHANGE: Final = Refusal("[The user changed this call. {}]", "You changed this call. {}")
PLAN_MODE: Final = Refusal("Plan mode is read-only. Describe what you would do instead.", "Plan mode is read-only.")
DENIED_BY_HOOK: Final = Refusal("[A user hook denied this call: {}]", "Your hook denied this call: {}")
INVALID_HOOK_CHANGE: Final = Refusal(
    "[A user hook changed the arguments. {}]", "Your hook changed the arguments of this call. {}"
)
QUESTION_LIMIT: Final = Refusal(
    "[Not asked: this run is limited to {}. Decide yourself, and record the decision with decide.]",
    "This run is limited to {}, so the agent decides.",
)
_REFUSALS: Final = (
    DENIED,
    DENIED_WITH_REASON,
    STALE_APPROVAL,
    INVALID_CHANGE,
    PLAN_MODE,
    DENIED_BY_HOOK,
    INVALID_HOOK_CHANGE,
    QUESTION_LIMIT,
)


def text_for_user(reason: str) -> str:
    """Return a reason that the model was given in the words for the user; any other reason suits both as it is."""
    for refusal in _REFUSALS:
        before, placeholder, after = refusal.for_model.partition("{}")
        if not placeholder and reason == before:
            return refusal.for_user
        if placeholder and reason.startswith(before) and reason.endswith(after):
            details = reason.removeprefix(before)
            return refusal.for_user.replace("{}", details[: len(details) - len(after)])
    return reason
