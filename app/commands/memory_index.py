"""The command `memory index`: sets up semantic search of memories, builds its index and prints its status."""

from dataclasses import asdict

from app.commands.invocation import Invocation
from core.domain.problems import Problem
from core.engine.services.semantic_search_setup import enable_semantic_search
from core.memory.semantic_search import SemanticSearchStatus

DISABLED_TEXT = """Semantic search is disabled: memories are found by keywords alone. To enable it with a local model:
  journeyman memory index enable         all-MiniLM-L6-v2, which is installed first if it is missing (84 MB)
  journeyman memory index enable FOLDER  another BERT model as published, such as all-MiniLM-L6-v2 or
                                         bge-small-en-v1.5 (config.json, model.safetensors, vocab.txt)
  journeyman memory index enable FILE    an embedding model in the GGUF format
Semantic search itself makes no network requests."""
PROGRESS_EVERY = 200  # number of memories between two lines of progress


async def memory_index(context: Invocation) -> None:
    """Enable, disable or build the index, and print its status."""
    action = context.args.do
    if action == "enable":
        await _enable(context)
        await _build(context)  # semantic search finds only indexed memories
    elif action == "disable":
        context.engine.settings.change(embedding_model="")
        context.out.write("Semantic search is disabled: memories are found by keywords alone.")
        return
    elif action == "build":
        await _build(context)
    _print_status(context, await context.engine.memory.semantic_search_status())


async def _enable(context: Invocation) -> None:
    """Set the embedding model; the default one is installed first if it is missing."""
    path = context.args.model
    model = str((context.folder / path).expanduser().resolve()) if path else ""

    def report(packages: list[str]) -> None:
        context.out.write_error(f"Installing {', '.join(packages)}…")

    await enable_semantic_search(context.engine.settings, context.engine.memory, model, on_install=report)


async def _build(context: Invocation) -> None:
    last_reported = 0

    def report(count: int) -> None:
        nonlocal last_reported
        if count >= last_reported + PROGRESS_EVERY:
            last_reported = count
            context.out.write_error(f"{count:,} memories indexed")

    await context.engine.memory.embed_missing(report)


def _print_status(context: Invocation, status: SemanticSearchStatus) -> None:
    if context.args.json:
        context.out.write_json(asdict(status))
    elif not status.model:
        context.out.write(DISABLED_TEXT)
    elif status.error:
        raise Problem.from_details(status.error)
    else:
        context.out.write(f"{status.model}: {status.embedded:,} of {status.memories:,} memories indexed.")
        if status.embedded < status.memories:
            hint = "An open window indexes the rest; without one: journeyman memory index build"
            context.out.write(f"The others are found by their words. {hint}")
