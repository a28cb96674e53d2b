"""The permission policy: what each mode asks about, what rules can change, and what an approval is bound to."""

import dataclasses
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.command_line import ParsedLine, parse_line
from core.domain.modes import MODES, Mode
from core.domain.permissions import (
    Allowed,
    Denied,
    NeedsApproval,
    PermissionRequested,
    can_be_answered_together,
    canonical_json,
    covers_change,
    fingerprint,
    is_stale,
    offered_scopes,
)
from core.domain.problems import Problem
from core.domain.rules import PermissionRule, check_rule, suggest_patterns
from core.engine.policy.grants import rules_from_approval
from core.engine.policy.policy import PolicyContext, evaluate_call
from core.engine.policy.proposed_call import ProposedCall, propose_call
from core.tools.catalogue import TOOLS, read_arguments
from core.tools.tool import Tool
from tests.core.engine.policy_calls import FACTS, act, rule, verdict
from tests.core.engine.trap_commands import EVERYDAY, TRAPS

READ = act("read", path="notes.txt")
WRITE = act("write", path="src/a.py", content="x")
PATCH = act("patch", diff="--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-a\n+b\n")
RUN = act("run", command="pytest -q")
TODO = act("todo", items=[])
FETCH = ProposedCall(
    "r1c1", "fetch", "https://example.org/a", "network", '{"url":"https://example.org/a"}', ("example.org",)
)
TRUSTING: tuple[Mode, ...] = ("accept-edits", "auto")
LETTERS = {Allowed: "+", NeedsApproval: "?", Denied: "-"}


@pytest.mark.parametrize(
    ("mode", "told"),
    # todo, read, write, patch, run, fetch
    [("ask-all", "+?????"), ("ask", "++????"), ("accept-edits", "++++??"), ("plan", "++----"), ("auto", "+++++?")],
)
def test_requests_of_each_mode(mode: Mode, told: str) -> None:
    calls = (TODO, READ, WRITE, PATCH, RUN, FETCH)
    assert "".join(LETTERS[type(verdict(call, mode=mode))] for call in calls) == told


def test_a_request_names_the_mode_as_the_window_does() -> None:
    found = verdict(WRITE, mode="ask")
    assert isinstance(found, NeedsApproval)
    assert found.request.reason == "The mode “Ask before edits and commands” requires approval for changes to files."


def test_a_tool_whose_files_are_unknown_is_not_judged() -> None:
    writes_elsewhere = dataclasses.replace(TOOLS["recall"], access="write")  # it has no parameter `path`
    with pytest.raises(KeyError):
        propose_call(writes_elsewhere, read_arguments("recall", '{"query": "x"}'), "r1c1")


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "~/x/../../../y", "/home/ada/letters2/x"])
def test_nothing_outside_the_folder_is_allowed(path: str) -> None:
    for mode in MODES:
        found = verdict(act("read", path=path), rule("**/x", tool="read", subject="path"), mode=mode)
        assert isinstance(found, Denied) or path.startswith("~")


@pytest.mark.parametrize(
    "path",
    [".env", "sub/.ENV", ".env.local", "id_rsa", "/home/ada/letters/.aws/credentials", "x/.ssh/config", "server.pem",
     "\uff0eenv", "\u200b.env", ".env.", ".env:stream", "a\\.env", "/home/ada/letters/deep/../.netrc"],
)  # fmt: skip
def test_secrets_are_denied_in_every_mode_and_by_every_rule(path: str) -> None:
    everything = rule("src/**", tool="*", subject="path")
    for mode, tool in itertools.product(MODES, ("read", "write")):
        more = {"content": ""} if tool == "write" else {}
        assert isinstance(verdict(act(tool, path=path, **more), everything, mode=mode), Denied)
    assert not isinstance(verdict(act("read", path=".env.example")), Denied)
    linked = dataclasses.replace(FACTS, resolve=lambda name: ".env" if name == "notes.txt" else name)
    assert isinstance(verdict(READ, facts=linked), Denied)


def test_our_own_data_is_denied_but_a_folder_inside_it_can_be_a_workspace() -> None:
    home = dataclasses.replace(FACTS, workspace="/home/ada")
    assert isinstance(verdict(act("read", path=".local/share/journeyman/journeyman.db"), facts=home), Denied)
    command = act("run", command="cat /home/ada/.local/share/journeyman/journeyman.db")
    assert isinstance(verdict(command, facts=home, mode="auto"), Denied)
    demo = dataclasses.replace(FACTS, workspace=f"{FACTS.data_dir}/demo/letters-1")
    assert isinstance(verdict(READ, facts=demo), Allowed)


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", ".GIT/config", ".vscode/tasks.json", ".envrc", ".mcp.json"])
def test_protected_files_ask_each_time(path: str) -> None:
    for mode in TRUSTING:
        found = verdict(act("write", path=path, content=""), rule(path, tool="write", subject="path"), mode=mode)
        assert isinstance(found, NeedsApproval) and offered_scopes(found.request) == ("once",)


@pytest.mark.parametrize("command", ["rm -rf build", "git push", "git reset --hard", "npm publish", "echo $(rm x)"])
def test_irreversible_calls_ask_in_every_mode_and_are_never_remembered(command: str) -> None:
    for mode in set(MODES) - {"plan"}:
        found = verdict(act("run", command=command), mode=mode)
        assert (
            isinstance(found, NeedsApproval)
            and not found.request.reversible
            and offered_scopes(found.request) == ("once",)
        )
        with pytest.raises(Problem):
            rules_from_approval(found.request, "always", [command], "", lambda: "n", 1)
    with pytest.raises(Problem):
        rule(command)


def test_files_changed_by_the_agent_ask_before_they_are_executed() -> None:
    make = rule("make *")
    assert isinstance(verdict(act("run", command="make test"), make), Allowed)
    changed = dataclasses.replace(FACTS, changed_files=frozenset({"Makefile"}))
    found = verdict(act("run", command="make test"), make, facts=changed, mode="auto")
    assert isinstance(found, NeedsApproval) and "Makefile" in found.request.reason
    script = dataclasses.replace(FACTS, changed_files=frozenset({"gradlew"}))
    assert isinstance(
        verdict(act("run", command="./gradlew test"), rule("./gradlew test"), facts=script), NeedsApproval
    )


def test_without_a_sandbox_every_command_asks() -> None:
    bare = dataclasses.replace(FACTS, level="none")
    for mode in TRUSTING:
        assert isinstance(verdict(RUN, rule("pytest *"), facts=bare, mode=mode), NeedsApproval)
    reduced = dataclasses.replace(FACTS, level="reduced")
    unclear = act("run", command="ls $X")
    assert isinstance(verdict(unclear, mode="auto"), Allowed)
    assert isinstance(verdict(unclear, mode="auto", facts=reduced), NeedsApproval)
    windows = dataclasses.replace(FACTS, posix_shell=False)
    assert isinstance(verdict(act("run", command="ls && ls"), rule("ls"), facts=windows), NeedsApproval)
    assert isinstance(verdict(act("run", command="ls"), rule("ls"), facts=windows), Allowed)


def test_after_untrusted_content_only_network_access_asks() -> None:
    host, tests = rule("example.org", tool="fetch", subject="host"), rule("pytest *")
    assert isinstance(verdict(FETCH, host), Allowed)
    found = verdict(FETCH, host, taint=["https://evil.example"])
    assert (
        isinstance(found, NeedsApproval) and "evil.example" in found.request.reason and found.request.untrusted_sources
    )
    assert isinstance(verdict(RUN, tests, taint=["web"]), Allowed)
    reaching = dataclasses.replace(FACTS, hosts=("pypi.example",))
    assert isinstance(verdict(RUN, tests, taint=["web"], facts=reaching), NeedsApproval)
    assert isinstance(verdict(RUN, tests, facts=reaching), Allowed)


def test_rules_apply_where_they_were_made() -> None:
    here, run, ever = (
        rule("mkdir *"),
        rule("mkdir *", scope="run", scope_id="s/1"),
        rule("mkdir *", scope="always", scope_id=""),
    )
    other = dataclasses.replace(FACTS, workspace="/elsewhere", run="s/2")
    mkdir = act("run", command="mkdir -p build")
    assert [type(verdict(mkdir, kept)) for kept in (here, run, ever)] == [Allowed] * 3
    assert [type(verdict(mkdir, kept, facts=other)) for kept in (here, run, ever)] == [
        NeedsApproval,
        NeedsApproval,
        Allowed,
    ]
    assert isinstance(verdict(mkdir, rule("src/**", tool="read", subject="path")), NeedsApproval)


def test_rules_for_paths_and_hosts() -> None:
    kept = rule("src/**", tool="write", subject="path")
    assert isinstance(verdict(WRITE, kept), Allowed)
    assert isinstance(verdict(act("write", path="src/../b", content=""), kept), NeedsApproval)
    linked = dataclasses.replace(FACTS, resolve=lambda name: "other/a.py")
    assert isinstance(verdict(WRITE, kept, facts=linked), NeedsApproval)
    subdomains = rule("*.example.org", tool="fetch", subject="host")
    for host, told in (("a.example.org", Allowed), ("example.org", NeedsApproval), ("evil-example.org", NeedsApproval),
                       ("a.example.org:8080", NeedsApproval), ("a.example.org.evil.net", NeedsApproval),
                       ("A.EXAMPLE.ORG", Allowed)):  # fmt: skip
        assert isinstance(verdict(dataclasses.replace(FETCH, subjects=(host,)), subdomains), told), host


@pytest.mark.parametrize(
    "command",
    ["git push", "git  push origin", "git -C x push", "/usr/bin/git push", "g''it push", "ls; git push",
     "ls && git push", "$(git push)", "sudo git push", "sh -c 'git push'", "git \\\npush",
     "env X=1 git push --force", "git${IFS}push",
     "ls | xargs git push", "`git push`", "GIT push"],
)  # fmt: skip
def test_a_deny_rule_reaches_hidden_commands(command: str) -> None:
    for mode in MODES:
        found = verdict(act("run", command=command), rule("git push *", effect="deny"), rule("ls *"), mode=mode)
        assert isinstance(found, Denied) and (found.rule_id == "id-git push *" or mode == "plan"), command


@pytest.mark.parametrize(
    "url",
    ["http://evil.com/", "HTTPS://EVIL.com.:8443/", "http://\u24d4vil.com/", "http://evil\u3002com/", "http://1572395042/",
     "http://0x5db8d822/", "http://93.184.55330/", "http://[::ffff:93.184.216.34]/", "http://xn--bcher-kva.example/",
     "http://b\u00fccher.example/"],
)  # fmt: skip
def test_a_denied_host_is_denied_in_every_spelling(url: str) -> None:
    hosts = ("evil.com", "93.184.216.34", "b\u00fccher.example")
    denied = [rule(host, "deny", tool="fetch", subject="host") for host in hosts]
    granted = dataclasses.replace(FACTS, granted_tools=frozenset({"fetch"}))
    assert isinstance(verdict(act("fetch", url=url), *denied, facts=granted), Denied)
    assert isinstance(verdict(act("fetch", url="http://good.com/"), *denied, facts=granted), Allowed)


def test_ask_rules_precede_allow_rules() -> None:
    found = verdict(act("run", command="git log"), rule("git log *"), rule("git *", effect="ask"), mode="auto")
    assert isinstance(found, NeedsApproval) and found.request.rule_id == "id-git *"


def test_an_unreadable_rule_file_asks_for_everything() -> None:
    for mode, call in itertools.product(MODES, (READ, WRITE, RUN, FETCH)):
        assert isinstance(evaluate_call(call, mode, None, (), FACTS), NeedsApproval | Denied)
    assert isinstance(evaluate_call(TODO, "ask", None, (), FACTS), Allowed)
    assert isinstance(evaluate_call(act("read", path=".env"), "ask", None, (), FACTS), Denied)


def test_an_approval_is_bound_to_what_was_shown() -> None:
    found = verdict(WRITE)
    assert isinstance(found, NeedsApproval)
    asked = found.request
    same: dict[str, Any] = {
        "tool": asked.tool,
        "arguments": found.arguments,
        "cwd": asked.cwd,
        "level": asked.sandbox_level,
        "untrusted_sources": asked.untrusted_sources,
    }
    assert not is_stale(asked, dataclasses.replace(asked, fingerprint=fingerprint(**same)))
    for name, other in (("tool", "edit"), ("arguments", "{}"), ("cwd", "/"), ("level", "none"),
                        ("untrusted_sources", ("web",)), ("targets", ("what it holds now",))):  # fmt: skip
        assert is_stale(asked, dataclasses.replace(asked, fingerprint=fingerprint(**{**same, name: other})))
    assert canonical_json({"b": 1, "a": "ü"}) == canonical_json({"a": "ü", "b": 1}) == '{"a":"\\u00fc","b":1}'
    assert PermissionRequested(asked).request.id == "s-r1c1-may"


def test_patterns_an_approval_can_be_saved_as() -> None:
    found = verdict(act("run", command="git log -p -5 && pytest -q 2>&1 | tail -5"))
    assert isinstance(found, NeedsApproval) and found.request.patterns == ("git log *", "pytest *")
    made = rules_from_approval(found.request, "folder", found.request.patterns, "s/1", iter("ab").__next__, 7)
    assert [(r.pattern, r.scope_id, r.session, r.created_at) for r in made] == [
        ("git log *", FACTS.workspace, "s", 7), ("pytest *", FACTS.workspace, "s", 7),
    ]  # fmt: skip
    assert isinstance(verdict(act("run", command="pytest -x; git log -p"), *made), Allowed)
    assert rules_from_approval(found.request, "once", [], "", lambda: "n", 1) == []
    with pytest.raises(Problem):
        rules_from_approval(found.request, "always", ["git push *"], "", lambda: "n", 1)
    written = verdict(act("run", command="pytest > x"))
    assert isinstance(written, NeedsApproval) and written.request.patterns == ()
    assert suggest_patterns("path", ["src/a.py"]) == ("src/*",)


def test_similar_requests_can_be_answered_together() -> None:
    def asked(call: ProposedCall, **more: Any) -> Any:
        found = verdict(call, **more)
        assert isinstance(found, NeedsApproval)
        return found.request

    one, other = asked(act("run", command="git log -p")), asked(act("run", command="git log -p src"))
    assert can_be_answered_together(one, other)
    assert not can_be_answered_together(one, asked(act("run", command="git diff")))
    assert not can_be_answered_together(asked(act("run", command="rm a")), asked(act("run", command="rm b")))
    assert not can_be_answered_together(one, asked(act("run", command="git log -p src"), taint=["web"]))
    assert not can_be_answered_together(one, asked(WRITE))
    assert can_be_answered_together(asked(WRITE), asked(act("write", path="src/b.py", content="y")))
    notes, letter = asked(READ, mode="ask-all"), asked(act("read", path="src/letter.txt"), mode="ask-all")
    assert notes.patterns != letter.patterns and can_be_answered_together(notes, letter)


def test_an_answer_covers_no_command_that_can_reach_other_hosts() -> None:
    log, same_log = act("run", command="git log -p"), act("run", command="git log -p src")
    offline, online = verdict(log), verdict(same_log, facts=dataclasses.replace(FACTS, hosts=("example.org",)))
    assert isinstance(offline, NeedsApproval) and isinstance(online, NeedsApproval)
    assert offline.request.patterns == online.request.patterns
    assert not can_be_answered_together(offline.request, online.request)
    assert not covers_change(offline.request, online.request)


def test_reading_is_not_answered_together_with_another_access() -> None:
    found = verdict(READ, mode="ask-all")
    assert isinstance(found, NeedsApproval)
    other = dataclasses.replace(found.request, id="s-r1c2-may", call_id="r1c2", patterns=("other/*",))
    assert can_be_answered_together(found.request, other)
    assert not can_be_answered_together(found.request, dataclasses.replace(other, access="write"))


@pytest.mark.parametrize(
    "pattern",
    ["*", "git *", "python *", "sh *", "bash", "sudo ls", "git log && ls", "git -c a=b log", "rm *", "curl *",
     "git push *", "ls > x", "ls $X", "find . -exec *", "git diff --ext-diff *", "GIT_DIR=x git log", "cd src"],
)  # fmt: skip
def test_patterns_that_are_too_broad_are_refused(pattern: str) -> None:
    with pytest.raises(Problem):
        rule(pattern)


def test_a_rule_must_match_its_examples() -> None:
    kept = rule("git log *")
    check_rule(kept)
    for wrong in ({"matches": ("git diff",)}, {"misses": ("git log -p",)}, {"matches": ()}, {"misses": ()}):
        with pytest.raises(Problem):
            check_rule(dataclasses.replace(kept, **wrong))


COMMANDS = st.sampled_from([*EVERYDAY[:20], *TRAPS[:60], "git push", "rm x"])
PATTERNS = st.sampled_from(["git status *", "git log *", "ls *", "cat *", "pytest *", "git push *", "git *", "rm *"])
EFFECTS = st.sampled_from(["allow", "ask", "deny"])


@st.composite
def any_rules(draw: st.DrawFn) -> list[PermissionRule]:
    made = []
    for effect, pattern in draw(st.lists(st.tuples(EFFECTS, PATTERNS), max_size=6)):
        try:
            made.append(rule(pattern, effect=effect))
        except Problem:
            continue  # too broad to be saved
    return made


@given(COMMANDS, any_rules(), any_rules(), st.sampled_from(MODES))
def test_adding_rules_never_allows_what_was_denied(
    command: str, rules: list[PermissionRule], more: list[PermissionRule], mode: Mode
) -> None:
    call = act("run", command=command)
    if isinstance(verdict(call, *rules, mode=mode), Denied):
        for order in (rules + more, more + rules):
            assert isinstance(verdict(call, *order, mode=mode), Denied)


@given(COMMANDS, any_rules(), st.sampled_from(MODES))
def test_allow_never_precedes_deny_or_ask(command: str, rules: list[PermissionRule], mode: Mode) -> None:
    call = act("run", command=command)
    if isinstance(verdict(call, *rules, mode=mode), Allowed):
        for one in rules:
            if one.effect != "allow":
                alone = verdict(call, one, mode=mode)
                assert not isinstance(alone, Denied) and not (
                    isinstance(alone, NeedsApproval) and alone.request.rule_id == one.id
                )


@given(st.text(alphabet=st.sampled_from(" abgit-=~/.'\"\\;&|$<>(){}*?#\n!0é"), max_size=40))
def test_the_parser_never_fails_and_never_passes_a_special_character(text: str) -> None:
    line = parse_line(text)
    if isinstance(line, ParsedLine):
        assert line.parts and all(part and part[0] for part in line.parts)
        unquoted = "".join(text.split("'")[::2]) if '"' not in text else ""
        assert not set(unquoted) & set("$`\\<>(){}*?#!")


def test_events_and_tools_are_plain_values() -> None:
    assert PolicyContext("s", "r", "/w", "/d", "none").changed_files == frozenset()
    assert {field.name for field in dataclasses.fields(Tool)} >= {"with_known_files", "event", "paths"}


def test_a_request_names_the_hosts_that_a_command_can_reach() -> None:
    facts = dataclasses.replace(FACTS, hosts=("example.org:443",))
    for call, hosts in ((act("run", command="make"), facts.hosts), (act("write", path="a", content="b"), ())):
        found = verdict(call, facts=facts)
        assert isinstance(found, NeedsApproval) and found.request.hosts == hosts
