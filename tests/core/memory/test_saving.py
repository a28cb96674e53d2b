"""Saving memories: saved, merged, linked or rejected."""

from pathlib import Path

import pytest

from core.domain.ids import ALPHABET, memory_id
from core.domain.memory import MEMORY_KINDS, MemoryContent, MemoryKind
from core.domain.problems import Problem
from core.memory.saving import LearningLimits, MemorySource
from core.memory.tokenizer import tokenize
from tests.core.memory.made import memories_at, run_now, save_memory


def test_each_kind_keeps_its_fields_and_three_of_them_make_its_sentence(tmp_path: Path) -> None:
    stated: dict[MemoryKind, tuple[dict[str, str], str]] = {
        "heuristic": ({"when": "tests fail", "do": "read the log"}, "When tests fail: read the log."),
        "anti-pattern": (
            {"what": "push to main", "why": "it deploys", "instead": "open a branch"},
            "Do not push to main, because it deploys; instead open a branch.",
        ),
        "outcome": (
            {"task": "Mend it", "tried": "run make", "status": "failed", "error": "no rule"},
            "Mend it. Tried: run make. It failed. Error: no rule.",
        ),
        "preference": ({"about": "letters"}, "Keep letters short."),
        "knowledge": ({"about": "the server", "source": "README.md"}, "The port is 8080."),
    }
    assert stated.keys() == {*MEMORY_KINDS}
    with memories_at(tmp_path) as memories:
        for seq, (kind, (fields, text)) in enumerate(stated.items(), 1):
            given = text if kind in ("preference", "knowledge") else ""
            content = MemoryContent(kind, given, fields=fields)
            saved = run_now(memories.save(content, MemorySource("agent", "s1", seq, "it helped"))).memory
            kept = memories.get(saved.id)
            assert (kept.content.kind, kept.content.text, dict(kept.content.fields)) == (kind, text, fields)
            assert (kept.author, kept.seq, kept.evidence, kept.version) == ("agent", seq, 1, 1)


def test_a_memory_records_author_time_and_source(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        said = MemoryContent(
            "heuristic", "", "folder", "/w", "around it", 0.7, {"when": "tests fail", "do": "read the log"}
        )
        kept = run_now(memories.save(said, MemorySource("agent", "s1", 41, "it helped"))).memory
        assert memories.get(kept.id) == kept and memories.get(kept.id[:4]) == kept
        assert kept.content.text == "When tests fail: read the log."
        assert (kept.author, kept.session, kept.seq, kept.evidence) == ("agent", "s1", 41, 1)
        assert [(one.action, one.author, one.reason) for one in memories.changes(kept.id)] == [
            ("created", "agent", "it helped")
        ]
        assert memories.has_any


@pytest.mark.parametrize(
    "again", ["Deploy with make release.", "deploy with MAKE release", "Deploy  with\nmake release!"]
)
def test_the_same_sentence_is_evidence_and_no_second_row(tmp_path: Path, again: str) -> None:
    with memories_at(tmp_path) as memories:
        first = save_memory(memories, "Deploy with make release.")
        second = save_memory(memories, again)
        assert (second.did, second.memory.id, second.memory.evidence) == ("reinforced", first.memory.id, 2)
        assert second.memory.content.confidence > first.memory.content.confidence
        assert len(memories.listed()) == 1


def test_learning_again_never_lowers_the_confidence(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        content = MemoryContent("preference", "They prefer short answers.", confidence=1.0)
        for _ in range(2):
            saved = run_now(memories.save(content, MemorySource("user")))
        assert (saved.memory.evidence, saved.memory.content.confidence) == (2, 1.0)


def test_near_duplicates_merge_and_different_memories_do_not(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        save_memory(memories, "The staging server listens on port 8080 behind the old proxy.")
        assert (
            save_memory(memories, "The staging server is listening on port 8080, behind an old proxy").did
            == "reinforced"
        )
        for other in (
            "The staging server listens on port 9090 behind the old proxy.",
            "The staging server never listens on port 8080 behind the old proxy.",
            "The production server listens on port 8080 behind the old proxy.",
        ):
            assert save_memory(memories, other).did == "created", other
        assert len(memories.listed()) == 4


def test_another_scope_or_kind_is_another_memory(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        save_memory(memories, "Run the linter before committing.")
        assert save_memory(memories, "Run the linter before committing.", reach="folder", place="/w").did == "created"
        assert save_memory(memories, "Run the linter before committing.", kind="preference").did == "created"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The user prefers tabs in Python.", "The user prefers spaces in Python."),
        ("Always run the tests before a commit.", "Never run the tests before a commit."),
        ("The staging port is 8080.", "The staging port is 9090."),
        ("Use the cache of the build server.", "Do not use the cache of the build server."),
    ],
)
def test_contradicting_memories_are_linked(tmp_path: Path, old: str, new: str) -> None:
    with memories_at(tmp_path) as memories:
        first = save_memory(memories, old, kind="preference").memory
        kept = save_memory(memories, new, kind="preference")
        assert (kept.did, [one.id for one in kept.conflicts]) == ("created", [first.id])
        assert memories.get(first.id).conflicts == (kept.memory.id,)
        assert memories.get(kept.memory.id).conflicts == (first.id,)


def test_a_memory_of_a_folder_that_contradicts_one_for_every_folder_is_linked(tmp_path: Path) -> None:
    """A run in the folder would receive both. Memories of two folders never meet."""
    with memories_at(tmp_path) as memories:
        everywhere = save_memory(memories, "Deploys run on Fridays.").memory
        elsewhere = save_memory(memories, "Deploys run on Fridays.", reach="folder", place="/other").memory
        kept = save_memory(memories, "Deploys never run on Fridays.", reach="folder", place="/w")
        assert (kept.did, [one.id for one in kept.conflicts]) == ("created", [everywhere.id])
        assert memories.get(everywhere.id).conflicts == (kept.memory.id,)
        assert memories.get(elsewhere.id).conflicts == ()


def test_the_same_topic_is_no_contradiction(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        save_memory(memories, "The staging port is 8080.")
        assert save_memory(memories, "The staging server is restarted on Mondays.").conflicts == ()
        assert save_memory(memories, "Production logs go to the collector.").conflicts == ()


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
    "Bob's phone is 555-867-5309 at work",
    "Reach the office at (212) 555-0142",
    "The phone of the office is 030 12345678",
    "Tel. 0170/1234567 is for emergencies",
    "My card is 4111 1111 1111 1111",
    "Order 12 was paid with 4111 1111 1111 1111 28 days ago",
    "The cards are 2024 5500.0000.0000.0004 and 378282246310005 20",
    "IBAN DE89370400440532013000",
    "Pay BE68 5390 0754 7034 28 days later",
    "Pay DE89370400440532013000 NOW",
    "The p\u200bassword is hunter2",
    "Wachtwoord: hunter2x",
    "пароль: hunter2x",
)


@pytest.mark.parametrize("text", SECRETS)
def test_secrets_and_personal_numbers_are_refused_with_the_reason(tmp_path: Path, text: str) -> None:
    with memories_at(tmp_path) as memories:
        with pytest.raises(Problem) as refused:
            save_memory(memories, text, by="user")
        assert refused.value.details.cause.startswith("It contains")
        with pytest.raises(Problem):
            run_now(memories.save(MemoryContent("knowledge", "harmless", context=text), MemorySource("user")))
        with pytest.raises(Problem):  # The date is its context, as that of what the user adds.
            run_now(memories.save(MemoryContent("knowledge", text, context="28 May 2026"), MemorySource("user")))
        assert not memories.has_any


@pytest.mark.parametrize(
    "text",
    [
        "The password is asked at every start.",
        "Version 4111 of the board has 16 pins.",
        "Order 1234567890123 was shipped.",
        "The keyring holds the token of the server.",
        "Bumped on 2025-01-31 at 12:00:00.",
        "The call on 2025-01-31 10:30:00 is recorded.",
        "The phone server has the address 192.168.100.101.",
        "Call 555-867 of the tool took 12 seconds.",
        "Release 2.1.0-555-867-5309 is broken on the phone.",
        "The builds 2019 2020 2021 2022 2023 failed at 1732797863 and 1732797863000.",
        "The commit DE89AB12CD34EF5678 IS GOOD.",
    ],
)
def test_text_that_only_resembles_a_secret_is_kept(tmp_path: Path, text: str) -> None:
    with memories_at(tmp_path) as memories:
        assert save_memory(memories, text).did == "created"


def test_ascii_words_are_found_like_all_others() -> None:
    for text in ("readFile opens HTTPServer_port 8080", "a-b\x1cc\tD.e'f", "", "x" * 41 + " kept"):
        assert tokenize(text) == tokenize(f"{text} é")[:-1]
    assert tokenize("readFile opens my_Big2House") == ["read", "file", "open", "my", "big2house"]


def test_a_million_memories_have_distinct_ids() -> None:
    assert (
        len(ALPHABET) ** len(memory_id()) > 10**6 * 10**6 * 10**4
    )  # number of pairs, times the inverse of the accepted probability


def test_meaningless_or_too_long_text_is_refused(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        for said in (
            MemoryContent("knowledge", " \n"),
            MemoryContent("knowledge", "word " * 900),
            MemoryContent("heuristic", "", fields={"when": "it rains"}),
            MemoryContent("knowledge", "for nobody", "folder"),
            MemoryContent("opinion", "of no kind"),  # type: ignore[arg-type]
        ):
            with pytest.raises(Problem):
                run_now(memories.save(said, MemorySource("user")))


def test_a_profile_limits_what_is_learned_and_forbidden_wins(tmp_path: Path) -> None:
    limits = LearningLimits(allowed=("deploying", "preference"), denied=("salary",))
    with memories_at(tmp_path) as memories:

        def learn(said: MemoryContent) -> str:
            return run_now(memories.save(said, MemorySource("agent"), limits)).did

        assert learn(MemoryContent("knowledge", "Deploy on Tuesdays only.")) == "created"
        assert learn(MemoryContent("preference", "They like short answers.")) == "created"
        for refused in (
            MemoryContent("knowledge", "The office is in Oslo."),
            MemoryContent("preference", "Deploy after salary day."),
        ):
            with pytest.raises(Problem) as problem:
                learn(refused)
            assert "learn about" in problem.value.details.cause


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("JavaScript", "They write javascript at work."),
        ("PostgreSQL", "The POSTGRESQL server is old."),
        ("JavaScript", "JavaScript is fine."),
        ("salary", "The sal\u200bary is high."),
        ("sal\u200bary", "The salary is high."),
        ("IT", "Ask IT before the release."),
        ("US", "The US office is closed."),
        ("will", "The will is in the safe."),
    ],
)
def test_a_topic_is_found_however_it_is_written(topic: str, text: str) -> None:
    assert LearningLimits(denied=(topic,)).refusal_reason(MemoryContent("knowledge", text))


@pytest.mark.parametrize("topic", ["IT", "US", "JavaScript", "!"])
def test_a_topic_in_capitals_is_no_stop_word(topic: str) -> None:
    content = MemoryContent("knowledge", "Run the script of us before it starts!")
    assert not LearningLimits(denied=(topic,)).refusal_reason(content)


def test_many_memories_at_once_are_checked_too(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        many = [
            (MemoryContent("knowledge", f"Fact number {n} of the list.", "folder", f"/{n % 3}"), False)
            for n in range(50)
        ]
        assert len(run_now(memories.save_all(many, MemorySource("import")))) == 50 and len(memories.listed()) == 50
        assert [one.memory.content.text for one in memories.find("fact 17 list")][:1] == ["Fact number 17 of the list."]
        with pytest.raises(Problem):
            run_now(memories.save_all([(MemoryContent("knowledge", SECRETS[0]), False)], MemorySource("import")))
