"""The judgement: what each mode asks about, what rules can and cannot change, and what a yes is bound to."""

import dataclasses
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.command_line import Understood, read_line
from core.domain.consent import Allowed, Asks, ConsentAsked, Denied, alike, canonical, fingerprint, scopes, stale
from core.domain.modes import MODES, Mode
from core.domain.problems import Problem
from core.domain.rules import Rule, check, proposals
from core.engine.consent import Act, Facts, judge, rules_of
from core.tools.tool import Tool
from tests.core.engine.judged import FACTS, act, rule, verdict
from tests.core.engine.traps import EVERYDAY, TRAPS

READ = act("read", path="notes.txt")
WRITE = act("write", path="src/a.py", content="x")
PATCH = act("patch", diff="--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-a\n+b\n")
RUN = act("run", command="pytest -q")
TODO = act("todo", items=[])
FETCH = Act("r1c1", "fetch", "https://example.org/a", "network", '{"url":"https://example.org/a"}', ("example.org",))
TRUSTING: tuple[Mode, ...] = ("accept", "trust")
LETTERS = {Allowed: "+", Asks: "?", Denied: "-"}


@pytest.mark.parametrize(
    ("mode", "told"),
    # todo, read, write, patch, run, fetch
    [("ask", "+?????"), ("edits", "++????"), ("accept", "++++??"), ("plan", "++----"), ("trust", "+++++?")],
)
def test_what_each_mode_asks_about(mode: Mode, told: str) -> None:
    calls = (TODO, READ, WRITE, PATCH, RUN, FETCH)
    assert "".join(LETTERS[type(verdict(call, mode=mode))] for call in calls) == told


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "~/x/../../../y", "/home/ada/letters2/x"])
def test_nothing_outside_the_folder(path: str) -> None:
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
    linked = dataclasses.replace(FACTS, real=lambda name: ".env" if name == "notes.txt" else name)
    assert isinstance(verdict(READ, facts=linked), Denied)


def test_our_own_data_is_denied_but_a_folder_inside_it_can_be_worked_in() -> None:
    home = dataclasses.replace(FACTS, workspace="/home/ada")
    assert isinstance(verdict(act("read", path=".local/share/journeyman/journeyman.db"), facts=home), Denied)
    command = act("run", command="cat /home/ada/.local/share/journeyman/journeyman.db")
    assert isinstance(verdict(command, facts=home, mode="trust"), Denied)
    demo = dataclasses.replace(FACTS, workspace=f"{FACTS.data}/demo/letters-1")
    assert isinstance(verdict(READ, facts=demo), Allowed)


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", ".GIT/config", ".vscode/tasks.json", ".envrc", ".mcp.json"])
def test_what_other_programs_obey_is_asked_about_each_time(path: str) -> None:
    for mode in TRUSTING:
        found = verdict(act("write", path=path, content=""), rule(path, tool="write", subject="path"), mode=mode)
        assert isinstance(found, Asks) and scopes(found.request) == ("once",)


@pytest.mark.parametrize("command", ["rm -rf build", "git push", "git reset --hard", "npm publish", "echo $(rm x)"])
def test_what_cannot_be_undone_is_asked_in_every_mode_and_never_remembered(command: str) -> None:
    for mode in set(MODES) - {"plan"}:
        found = verdict(act("run", command=command), mode=mode)
        assert isinstance(found, Asks) and not found.request.undoable and scopes(found.request) == ("once",)
        with pytest.raises(Problem):
            rules_of(found.request, "always", [command], "", lambda: "n", 1)
    with pytest.raises(Problem):
        rule(command)


def test_what_the_agent_changed_is_asked_about_before_it_is_obeyed() -> None:
    make = rule("make *")
    assert isinstance(verdict(act("run", command="make test"), make), Allowed)
    changed = dataclasses.replace(FACTS, changed=frozenset({"Makefile"}))
    found = verdict(act("run", command="make test"), make, facts=changed, mode="trust")
    assert isinstance(found, Asks) and "Makefile" in found.request.why
    script = dataclasses.replace(FACTS, changed=frozenset({"gradlew"}))
    assert isinstance(verdict(act("run", command="./gradlew test"), rule("./gradlew test"), facts=script), Asks)


def test_without_a_sandbox_every_command_asks() -> None:
    bare = dataclasses.replace(FACTS, level="none")
    for mode in TRUSTING:
        assert isinstance(verdict(RUN, rule("pytest *"), facts=bare, mode=mode), Asks)
    reduced = dataclasses.replace(FACTS, level="reduced")
    unclear = act("run", command="ls $X")
    assert isinstance(verdict(unclear, mode="trust"), Allowed)
    assert isinstance(verdict(unclear, mode="trust", facts=reduced), Asks)
    windows = dataclasses.replace(FACTS, posix=False)
    assert isinstance(verdict(act("run", command="ls && ls"), rule("ls"), facts=windows), Asks)
    assert isinstance(verdict(act("run", command="ls"), rule("ls"), facts=windows), Allowed)


def test_a_tainted_run_asks_before_every_way_out_and_before_nothing_else() -> None:
    host, tests = rule("example.org", tool="fetch", subject="host"), rule("pytest *")
    assert isinstance(verdict(FETCH, host), Allowed)
    found = verdict(FETCH, host, taint=["https://evil.example"])
    assert isinstance(found, Asks) and "evil.example" in found.request.why and found.request.taint
    assert isinstance(verdict(RUN, tests, taint=["web"]), Allowed)
    reaching = dataclasses.replace(FACTS, hosts=("pypi.example",))
    assert isinstance(verdict(RUN, tests, taint=["web"], facts=reaching), Asks)
    assert isinstance(verdict(RUN, tests, facts=reaching), Allowed)


def test_rules_hold_where_they_were_made() -> None:
    here, run, ever = rule("ls *"), rule("ls *", scope="run", where="s/1"), rule("ls *", scope="always", where="")
    other = dataclasses.replace(FACTS, workspace="/elsewhere", run="s/2")
    ls = act("run", command="ls -la")
    assert [type(verdict(ls, kept)) for kept in (here, run, ever)] == [Allowed] * 3
    assert [type(verdict(ls, kept, facts=other)) for kept in (here, run, ever)] == [Asks, Asks, Allowed]
    assert isinstance(verdict(ls, rule("src/**", tool="read", subject="path")), Asks)


def test_paths_and_hosts() -> None:
    kept = rule("src/**", tool="write", subject="path")
    assert isinstance(verdict(WRITE, kept), Allowed)
    assert isinstance(verdict(act("write", path="src/../b", content=""), kept), Asks)
    linked = dataclasses.replace(FACTS, real=lambda name: "other/a.py")
    assert isinstance(verdict(WRITE, kept, facts=linked), Asks)
    subdomains = rule("*.example.org", tool="fetch", subject="host")
    for host, told in (("a.example.org", Allowed), ("example.org", Asks), ("evil-example.org", Asks),
                       ("a.example.org:8080", Asks), ("a.example.org.evil.net", Asks),
                       ("A.EXAMPLE.ORG", Allowed)):  # fmt: skip
        assert isinstance(verdict(dataclasses.replace(FETCH, subjects=(host,)), subdomains), told), host


@pytest.mark.parametrize(
    "command",
    ["git push", "git  push origin", "git -C x push", "/usr/bin/git push", "g''it push", "ls; git push",
     "ls && git push", "$(git push)", "sudo git push", "sh -c 'git push'", "git \\\npush",
     "env X=1 git push --force", "git${IFS}push",
     "ls | xargs git push", "`git push`", "GIT push"],
)  # fmt: skip
def test_a_deny_reaches_what_hides(command: str) -> None:
    for mode in MODES:
        found = verdict(act("run", command=command), rule("git push *", effect="deny"), rule("ls *"), mode=mode)
        assert isinstance(found, Denied) and (found.rule == "id-git push *" or mode == "plan"), command


@pytest.mark.parametrize(
    "url",
    ["http://evil.com/", "HTTPS://EVIL.com.:8443/", "http://\u24d4vil.com/", "http://evil\u3002com/", "http://1572395042/",
     "http://0x5db8d822/", "http://93.184.55330/", "http://[::ffff:93.184.216.34]/", "http://xn--bcher-kva.example/",
     "http://b\u00fccher.example/"],
)  # fmt: skip
def test_a_denied_host_is_denied_in_every_spelling(url: str) -> None:
    hosts = ("evil.com", "93.184.216.34", "b\u00fccher.example")
    denied = [rule(host, "deny", tool="fetch", subject="host") for host in hosts]
    granted = dataclasses.replace(FACTS, granted=frozenset({"fetch"}))
    assert isinstance(verdict(act("fetch", url=url), *denied, facts=granted), Denied)
    assert isinstance(verdict(act("fetch", url="http://good.com/"), *denied, facts=granted), Allowed)


def test_ask_stands_before_allow() -> None:
    found = verdict(act("run", command="git log"), rule("git log *"), rule("git *", effect="ask"), mode="trust")
    assert isinstance(found, Asks) and found.request.rule == "id-git *"


def test_an_unreadable_rule_book_asks_for_everything() -> None:
    for mode, call in itertools.product(MODES, (READ, WRITE, RUN, FETCH)):
        assert isinstance(judge(call, mode, None, (), FACTS), Asks | Denied)
    assert isinstance(judge(TODO, "edits", None, (), FACTS), Allowed)
    assert isinstance(judge(act("read", path=".env"), "edits", None, (), FACTS), Denied)


def test_a_yes_is_bound_to_what_was_shown() -> None:
    found = verdict(WRITE)
    assert isinstance(found, Asks)
    asked = found.request
    same: dict[str, Any] = {"tool": asked.tool, "arguments": found.arguments, "cwd": asked.cwd, "level": asked.level,
                            "taint": asked.taint}  # fmt: skip
    assert not stale(asked, dataclasses.replace(asked, fingerprint=fingerprint(**same)))
    for name, other in (("tool", "edit"), ("arguments", "{}"), ("cwd", "/"), ("level", "none"), ("taint", ("web",)),
                        ("found", ("what it holds now",))):  # fmt: skip
        assert stale(asked, dataclasses.replace(asked, fingerprint=fingerprint(**{**same, name: other})))
    assert canonical({"b": 1, "a": "ü"}) == canonical({"a": "ü", "b": 1}) == '{"a":"\\u00fc","b":1}'
    assert ConsentAsked(asked).request.id == "s-r1c1-may"


def test_what_a_yes_can_be_remembered_as() -> None:
    found = verdict(act("run", command="git log --oneline -5 && pytest -q"))
    assert isinstance(found, Asks) and found.request.patterns == ("git log *", "pytest *")
    made = rules_of(found.request, "folder", found.request.patterns, "s/1", iter("ab").__next__, 7)
    assert [(r.pattern, r.where, r.session, r.made) for r in made] == [
        ("git log *", FACTS.workspace, "s", 7), ("pytest *", FACTS.workspace, "s", 7),
    ]  # fmt: skip
    assert isinstance(verdict(act("run", command="pytest -x; git log -p"), *made), Allowed)
    assert rules_of(found.request, "once", [], "", lambda: "n", 1) == []
    with pytest.raises(Problem):
        rules_of(found.request, "always", ["git push *"], "", lambda: "n", 1)
    assert proposals("run", "command", ["ls > x"]) == ()
    assert proposals("write", "path", ["src/a.py"]) == ("src/*",)


def test_like_requests_can_be_answered_together() -> None:
    def asked(call: Act, **more: Any) -> Any:
        found = verdict(call, **more)
        assert isinstance(found, Asks)
        return found.request

    one, other = asked(act("run", command="git log -p")), asked(act("run", command="git log src"))
    assert alike(one, other)
    assert not alike(one, asked(act("run", command="git diff")))
    assert not alike(asked(act("run", command="rm a")), asked(act("run", command="rm b")))
    assert not alike(one, asked(act("run", command="git log src"), taint=["web"]))
    assert not alike(one, asked(WRITE))
    assert alike(asked(WRITE), asked(act("write", path="src/b.py", content="y")))


@pytest.mark.parametrize(
    "pattern",
    ["*", "git *", "python *", "sh *", "bash", "sudo ls", "git log && ls", "git -c a=b log", "rm *", "curl *",
     "git push *", "ls > x", "ls $X", "find . -exec *", "git diff --ext-diff *", "GIT_DIR=x git log", "cd src"],
)  # fmt: skip
def test_patterns_that_are_too_wide_are_no_rules(pattern: str) -> None:
    with pytest.raises(Problem):
        rule(pattern)


def test_a_rule_must_be_true_of_its_examples() -> None:
    kept = rule("git log *")
    check(kept)
    for wrong in ({"matches": ("git diff",)}, {"misses": ("git log -p",)}, {"matches": ()}, {"misses": ()}):
        with pytest.raises(Problem):
            check(dataclasses.replace(kept, **wrong))


COMMANDS = st.sampled_from([*EVERYDAY[:20], *TRAPS[:60], "git push", "rm x"])
PATTERNS = st.sampled_from(["git status *", "git log *", "ls *", "cat *", "pytest *", "git push *", "git *", "rm *"])
EFFECTS = st.sampled_from(["allow", "ask", "deny"])


@st.composite
def any_rules(draw: st.DrawFn) -> list[Rule]:
    made = []
    for effect, pattern in draw(st.lists(st.tuples(EFFECTS, PATTERNS), max_size=6)):
        try:
            made.append(rule(pattern, effect=effect))
        except Problem:
            continue  # too wide to be kept
    return made


@given(COMMANDS, any_rules(), any_rules(), st.sampled_from(MODES))
def test_adding_rules_never_frees_what_was_denied(
    command: str, rules: list[Rule], more: list[Rule], mode: Mode
) -> None:
    call = act("run", command=command)
    if isinstance(verdict(call, *rules, mode=mode), Denied):
        for order in (rules + more, more + rules):
            assert isinstance(verdict(call, *order, mode=mode), Denied)


@given(COMMANDS, any_rules(), st.sampled_from(MODES))
def test_allow_never_wins_over_deny_or_ask(command: str, rules: list[Rule], mode: Mode) -> None:
    call = act("run", command=command)
    if isinstance(verdict(call, *rules, mode=mode), Allowed):
        for one in rules:
            if one.effect != "allow":
                alone = verdict(call, one, mode=mode)
                assert not isinstance(alone, Denied) and not (isinstance(alone, Asks) and alone.request.rule == one.id)


@given(st.text(alphabet=st.sampled_from(" abgit-=~/.'\"\\;&|$<>(){}*?#\n!0é"), max_size=40))
def test_the_reader_never_breaks_and_never_lets_a_special_sign_through(text: str) -> None:
    line = read_line(text)
    if isinstance(line, Understood):
        assert line.parts and all(part and part[0] for part in line.parts)
        unquoted = "".join(text.split("'")[::2]) if '"' not in text else ""
        assert not set(unquoted) & set("$`\\<>(){}*?#!")


def test_facts_and_tools_are_plain_values() -> None:
    assert Facts("s", "r", "/w", "/d", "none").changed == frozenset()
    assert {field.name for field in dataclasses.fields(Tool)} >= {"knowing", "fact", "paths"}
