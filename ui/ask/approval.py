"""How the user allows a permission request: with a scope, or with an answer that an external agent offers."""

from dataclasses import dataclass

from core.domain.permissions import PermissionOption, RuleScope


@dataclass(frozen=True, slots=True)
class ScopeApproval:
    """Allow a request. Unless the scope is `once`, a rule is saved for each of the patterns."""

    scope: RuleScope
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OptionApproval:
    """Answer a request of an external agent with one of the options that the agent offers."""

    option: PermissionOption


Approval = ScopeApproval | OptionApproval
