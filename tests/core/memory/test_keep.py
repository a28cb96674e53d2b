"""What is kept, merged, linked and refused."""

from pathlib import Path

import pytest

from core.domain.ids import ALPHABET, memory_id
from core.domain.memory import Said
from core.domain.problems import Problem
from core.memory.keep import Limits, Source
from core.memory.words import words
from tests.core.memory.made import done, keep, memories_at


def test_a_kept_sentence_knows_who_when_and_where_from(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        said = Said("heuristic", "", "folder", "/w", "around it", 0.7, {"when": "tests fail", "do": "read the log"})
        kept = done(memories.keep(said, Source("agent", "s1", 41, "it helped"))).memory
        assert memories.memory(kept.id) == kept and memories.memory(kept.id[:4]) == kept
        assert kept.said.text == "When tests fail: read the log."
        assert (kept.author, kept.session, kept.seq, kept.evidence) == ("agent", "s1", 41, 1)
        assert [(one.did, one.by, one.why) for one in memories.changes(kept.id)] == [("kept", "agent", "it helped")]
        assert memories.any


@pytest.mark.parametrize(
    "again", ["Deploy with make release.", "deploy with MAKE release", "Deploy  with\nmake release!"]
)
def test_the_same_sentence_is_evidence_and_no_second_row(tmp_path: Path, again: str) -> None:
    with memories_at(tmp_path) as memories:
        first = keep(memories, "Deploy with make release.")
        second = keep(memories, again)
        assert (second.did, second.memory.id, second.memory.evidence) == ("seen again", first.memory.id, 2)
        assert second.memory.said.confidence > first.memory.said.confidence
        assert len(memories.listed()) == 1


def test_a_near_duplicate_merges_and_what_differs_does_not(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        keep(memories, "The staging server listens on port 8080 behind the old proxy.")
        assert keep(memories, "The staging server is listening on port 8080, behind an old proxy").did == "seen again"
        for other in (
            "The staging server listens on port 9090 behind the old proxy.",
            "The staging server never listens on port 8080 behind the old proxy.",
            "The production server listens on port 8080 behind the old proxy.",
        ):
            assert keep(memories, other).did == "kept", other
        assert len(memories.listed()) == 4


def test_another_place_or_kind_is_another_memory(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        keep(memories, "Run the linter before committing.")
        assert keep(memories, "Run the linter before committing.", reach="folder", place="/w").did == "kept"
        assert keep(memories, "Run the linter before committing.", kind="preference").did == "kept"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The person prefers tabs in Python.", "The person prefers spaces in Python."),
        ("Always run the tests before a commit.", "Never run the tests before a commit."),
        ("The staging port is 8080.", "The staging port is 9090."),
        ("Use the cache of the build server.", "Do not use the cache of the build server."),
    ],
)
def test_a_contradiction_links_both(tmp_path: Path, old: str, new: str) -> None:
    with memories_at(tmp_path) as memories:
        first = keep(memories, old, kind="preference").memory
        kept = keep(memories, new, kind="preference")
        assert (kept.did, [one.id for one in kept.others]) == ("kept", [first.id])
        assert memories.memory(first.id).links == (kept.memory.id,)
        assert memories.memory(kept.memory.id).links == (first.id,)


def test_what_only_speaks_of_the_same_thing_is_no_contradiction(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        keep(memories, "The staging port is 8080.")
        assert keep(memories, "The staging server is restarted on Mondays.").others == ()
        assert keep(memories, "Production logs go to the collector.").others == ()


SECRETS = (
    "The key is sk-abcdefghijklmnopqrstuvwx1234",
    "The password is hunter2",
    "Log in with password: correct-horse",
    "AKIAABCDEFGHIJKLMNOP is the deploy user",
    "The \u017fecret is hunter2222",
    "Pay with card 4111 1111 1111 1111",
    "Their account is DE89 3704 0044 0532 0130 00",
    "Social security 123-45-6789 belongs to the owner",
    "Call her on +49 170 1234567 when it fails",
)


@pytest.mark.parametrize("text", SECRETS)
def test_secrets_and_numbers_of_persons_are_refused_with_the_reason(tmp_path: Path, text: str) -> None:
    with memories_at(tmp_path) as memories:
        with pytest.raises(Problem) as refused:
            keep(memories, text, by="person")
        assert refused.value.trouble.why.startswith(("It holds", "It tells"))
        with pytest.raises(Problem):
            done(memories.keep(Said("knowledge", "harmless", around=text), Source("person")))
        assert not memories.any


@pytest.mark.parametrize(
    "text",
    [
        "The password is asked at every start.",
        "Version 4111 of the board has 16 pins.",
        "Order 1234567890123 was shipped.",
        "The keyring holds the token of the server.",
        "Bumped on 2025-01-31 at 12:00:00.",
    ],
)
def test_what_only_looks_like_a_secret_is_kept(tmp_path: Path, text: str) -> None:
    with memories_at(tmp_path) as memories:
        assert keep(memories, text).did == "kept"


def test_the_words_of_plain_letters_are_found_as_those_of_all_others_are() -> None:
    for text in ("readFile opens HTTPServer_port 8080", "a-b\x1cc\tD.e'f", "", "x" * 41 + " kept"):
        assert words(text) == words(f"{text} é")[:-1]
    assert words("readFile opens my_Big2House") == ["read", "file", "open", "my", "big2house"]


def test_no_two_memories_of_a_million_share_an_id() -> None:
    assert len(ALPHABET) ** len(memory_id()) > 10**6 * 10**6 * 10**4  # pairs, and how seldom one of them is equal


def test_what_says_nothing_or_too_much_is_refused(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        for said in (
            Said("knowledge", " \n"),
            Said("knowledge", "word " * 900),
            Said("heuristic", "", parts={"when": "it rains"}),
            Said("knowledge", "for nobody", "folder"),
            Said("opinion", "of no kind"),  # type: ignore[arg-type]
        ):
            with pytest.raises(Problem):
                done(memories.keep(said, Source("person")))


def test_a_profile_says_what_may_be_learnt_and_forbidden_wins(tmp_path: Path) -> None:
    limits = Limits(may=("deploying", "preference"), never=("salary",))
    with memories_at(tmp_path) as memories:

        def learn(said: Said) -> str:
            return done(memories.keep(said, Source("agent"), limits)).did

        assert learn(Said("knowledge", "Deploy on Tuesdays only.")) == "kept"
        assert learn(Said("preference", "They like short answers.")) == "kept"
        for refused in (Said("knowledge", "The office is in Oslo."), Said("preference", "Deploy after salary day.")):
            with pytest.raises(Problem) as problem:
                learn(refused)
            assert "learn about" in problem.value.trouble.why


def test_many_at_once_are_checked_too(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        many = [
            (Said("knowledge", f"Fact number {n} of the list.", "folder", f"/{n % 3}"), Source("import"))
            for n in range(50)
        ]
        assert done(memories.add_all(many)) == 50 and len(memories.listed()) == 50
        assert [one.memory.said.text for one in memories.find("fact 17 list")][:1] == ["Fact number 17 of the list."]
        with pytest.raises(Problem):
            done(memories.add_all([(Said("knowledge", SECRETS[0]), Source("import"))]))
