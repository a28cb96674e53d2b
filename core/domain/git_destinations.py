"""Finds changed git settings that decide what the user's next command sends, where and as whom, and lost settings."""

import re
from collections.abc import Callable
from typing import NamedTuple

from core.domain.git_config import is_harmless, unsafe_lines
from core.domain.git_config_lines import ENTRY, config_lines

_KEYS = {  # by section
    "remote": ("url", "pushurl", "push", "fetch", "mirror"),
    "branch": ("remote", "pushremote"),
    "submodule": ("url",),
    "push": ("default",),
    "user": ("name", "email"),
    "core": ("sharedrepository", "protecthfs", "protectntfs"),
}
_USUAL_FETCH = re.compile(r"\+?refs/(?:heads|tags)/[^:]+:refs/(?:remotes|tags)/[^:]+")


class _Destination(NamedTuple):
    section: str
    subsection: str
    key: str
    value: str


def is_harmless_change(text: str, former: str, has_branch: Callable[[str], bool] = lambda name: False) -> bool:
    """Return whether a changed git configuration neither makes git run a program nor leads it elsewhere.

    Nor may it lack settings of the former one, such as `core.hooksPath` or a remote. `has_branch` returns whether a
    branch exists now.
    """
    if not is_harmless(text, former) or leads_elsewhere(text, former):
        return False
    return not loses_settings(text, former, has_branch)


def leads_elsewhere(text: str, former: str) -> bool:
    """Return whether a git configuration redirects fetches or pushes, compared with the former configuration.

    A changed author name or sharing of the repository counts as well. A branch may use any remote of the former
    configuration, and an author may be set if there was none. Other settings are ignored.
    """
    known = _destinations(former)
    remotes = {".", *(each.subsection for each in known if each.section == "remote")}
    has_author = any(each.section == "user" for each in known)
    for new in _destinations(text) - known:
        names_known_remote = new.section == "branch" and new.value in remotes
        sets_first_author = new.section == "user" and not has_author
        if not (names_known_remote or sets_first_author):
            return True
    return False


def loses_settings(text: str, former: str, has_branch: Callable[[str], bool]) -> bool:
    """Return whether a git configuration lacks settings that name programs or destinations in the former one.

    Without a remote, git takes its name for a folder, and runs the hooks there. Settings of a branch may be lost,
    because git removes them with the branch, except where to push a branch that still exists or has other settings.
    """
    if any(line.section != "branch" for line in unsafe_lines(former) - unsafe_lines(text)):
        return True
    branches = {line.subsection for line in config_lines(text) if line.section == "branch"}
    return any(
        each.section != "branch"
        or (each.key == "pushremote" and (each.subsection in branches or has_branch(each.subsection)))
        for each in _destinations(former) - _destinations(text)
    )


def _destinations(text: str) -> set[_Destination]:
    found: set[_Destination] = set()
    for line in config_lines(text):
        setting = ENTRY.fullmatch(line.entry)
        if setting is None:
            continue
        key, value = setting[1].casefold(), (setting[2] or "").strip()
        is_usual = key == "fetch" and _USUAL_FETCH.fullmatch(value)
        if key in _KEYS.get(line.section, ()) and not is_usual:
            found.add(_Destination(line.section, line.subsection, key, value))
    return found
