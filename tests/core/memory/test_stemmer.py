"""The forms of a word have one stem, also in data files that were indexed before an irregular form had it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core.domain.memory import EVERYWHERE, MemoryContent
from core.memory.saving import MemorySource
from core.memory.stemmer import BASE_FORMS, stem
from tests.core.memory.made import memories_at, run_now


@pytest.mark.parametrize(("form", "base"), BASE_FORMS.items())
def test_an_irregular_form_has_the_stem_of_its_base_form(form: str, base: str) -> None:
    assert stem(form) == stem(base)


@pytest.mark.parametrize(
    "words", ["left leave leaves leaving", "chose choose", "became become", "flew fly", "mice mouse"]
)
def test_the_forms_of_a_word_have_one_stem(words: str) -> None:
    assert len(set(map(stem, words.split()))) == 1


@pytest.mark.parametrize(
    ("word", "expected"),
    [("relational", "relat"), ("conditional", "condit"), ("organization", "organ"), ("predication", "predic")],
)
def test_the_longest_suffix_is_replaced(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_a_memory_of_an_older_file_is_found_by_each_form_and_can_be_erased(tmp_path: Path) -> None:
    with memories_at(tmp_path) as memories:
        kept = run_now(memories.save(MemoryContent("knowledge", "Mice left harbor"), MemorySource("agent"))).memory
    with closing(sqlite3.connect(tmp_path / "journeyman.db", isolation_level=None)) as db:
        ((key, words),) = db.execute("SELECT key, words FROM memory").fetchall()
        assert words == "mous leav harbor"
        remove = "INSERT INTO memory_search (memory_search, rowid, words, context) VALUES ('delete', ?, ?, '')"
        db.execute(remove, (key, words))
        db.execute("INSERT INTO memory_search (rowid, words, context) VALUES (?, 'mouse leave harbor', '')", (key,))
        db.execute("UPDATE memory SET words = 'mouse leave harbor'")
        db.execute("PRAGMA user_version = 19")
    with memories_at(tmp_path) as memories:
        for word in ("leaving", "left", "mouse"):
            assert [found.memory.id for found in memories.find(word, scopes=[EVERYWHERE])] == [kept.id], word
        run_now(memories.erase(kept.id))
        assert not memories.find("harbor", scopes=[EVERYWHERE])
