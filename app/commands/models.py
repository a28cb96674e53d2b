"""`models`: the servers, their models, windows and prices; add, remove and test them, give them keys."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from types import MappingProxyType

from app.commands.context import Context
from app.commands.exits import DONE, FAILED
from core.engine.providers import ModelRow, Overview, ProviderRow
from core.models.trial import Trial

SHOWN = 40  # of the models of one server; all of them with --json


async def models(context: Context) -> int:
    """List, or do what was asked."""
    action = context.typed.action
    return await (ACTIONS[action] if action else _list)(context)


def usable(overview: Overview) -> list[ProviderRow]:
    """The servers that can be asked now."""
    return [row for row in overview.providers if row.models or row.trouble or row.key_from or row.by != "Journeyman"]


async def _list(context: Context) -> int:
    found = await context.engine.models(fresh=True)
    if context.typed.json:
        for row in found.providers:
            context.out.json({"kind": "provider", **asdict(row)})
        rest = {name: value for name, value in asdict(found).items() if name != "providers"}
        context.out.json({"kind": "models", **rest})
        return DONE
    write = context.out.write
    there = usable(found)
    for row in there:
        _tell(row, write)
    others = [row for row in found.providers if row not in there]
    local = [f"{row.name} ({row.url})" for row in others if not row.needs_key]
    if local:
        write(f"Not running here: {', '.join(local)}")
    if far := [row.name for row in others if row.needs_key]:
        write(f"Without a key: {', '.join(far)}. Give one: journeyman models key NAME")
    write(f"New sessions use: {found.model or 'no model is set; choose one: journeyman models use PROVIDER/MODEL'}")
    write(f"Keyring: {found.keyring or 'none to trust'}")
    if found.keyring_trouble:
        write(f"  {found.keyring_trouble}")
    write(
        f"Prices: what a server says, else our table of {found.prices_date} ({found.prices_source}). $ for 1M tokens."
    )
    if found.proxy:
        write(f"Proxy: {found.proxy}")
    if found.proxy_offered:
        write(f"A proxy stands in the environment and is not used: journeyman models proxy {found.proxy_offered}")
    return DONE


def _tell(row: ProviderRow, write: Callable[[str], None]) -> None:
    key = f"key: {row.key_from}" if row.key_from else "no key is needed" if not row.needs_key else "no key"
    write(f"{row.name}  {row.url}  ({row.wire}; {key})")
    if row.trouble:
        write(f"  {row.trouble}")
    elif row.there is False:
        write("  Nothing listens there.")
    for model in row.models[:SHOWN]:
        write(f"  {model.name}  {_figures(model)}")
    if len(row.models) > SHOWN:
        write(f"  and {len(row.models) - SHOWN} more: journeyman models --json")


def _figures(model: ModelRow) -> str:
    window = f"{model.window:,} tokens" if model.window else "window unknown"
    if model.price_in is None or model.price_out is None:
        price = "price unknown"
    elif model.price_in == model.price_out == 0:
        price = "free"
    else:
        price = f"${model.price_in:g} in, ${model.price_out:g} out ({model.price_from})"
    return f"{window}, {price}" + (", no tool calls" if model.tools is False else "")


async def _add(context: Context) -> int:
    typed = context.typed
    added = await context.engine.providers.add(
        typed.name, typed.url, typed.wire, plain=typed.plain, variable=typed.variable
    )
    context.out.write(f"Added {added.name} at {added.url}. If it wants a key: journeyman models key {added.name}")
    return DONE


async def _remove(context: Context) -> int:
    await context.engine.providers.remove(context.typed.name)
    context.out.write(f"Removed {context.typed.name} and its key.")
    return DONE


async def _test(context: Context) -> int:
    trial = await context.engine.test_model(context.typed.model)
    if context.typed.json:
        context.out.json(asdict(trial))
    else:
        _tell_trial(trial, context)
    return FAILED if trial.trouble else DONE


def _tell_trial(trial: Trial, context: Context) -> None:
    out = context.out
    if trial.trouble:
        out.trouble(trial.trouble)
        return
    first = f"first word after {trial.first_s:.2f} s, " if trial.first_s is not None else ""
    out.write(f"{trial.model} answers: {first}whole after {trial.took_s or 0:.2f} s.")
    streams = {True: "yes", False: "no, the reply came in one piece", None: "could not be seen: the reply was empty"}
    tools = {True: "yes", False: "no", None: "could not be tried"}
    out.write(f"  Streams: {streams[trial.streams]}")
    why = f" ({trial.tools_trouble.what} {trial.tools_trouble.why})" if trial.tools_trouble else ""
    out.write(f"  Calls tools: {tools[trial.tools]}{why}")
    out.write(f"  Cost: {'unknown' if trial.cost is None else f'${trial.cost:.6f}'}")
    out.write(f"  It said: {trial.reply[:200] or '(nothing)'}")


async def _key(context: Context) -> int:
    typed, providers = context.typed, context.engine.providers
    if typed.forget:
        there = await providers.forget_key(typed.name)
        context.out.write(f"Forgot the key of {typed.name}." if there else f"There was no key of {typed.name}.")
        return DONE
    kept = await providers.give_key(typed.name, typed.given, keep=not typed.session)
    if kept.trouble:
        context.out.trouble(kept.trouble)
    where = "in the keyring" if kept.source == "keyring" else "until Journeyman ends"
    context.out.write(f"The key of {typed.name} is kept {where}.")
    return FAILED if kept.trouble else DONE


async def _use(context: Context) -> int:
    context.engine.providers.check(context.typed.model)
    context.engine.settings.change(model=context.typed.model)
    context.out.write(f"New sessions use {context.typed.model}.")
    return DONE


async def _proxy(context: Context) -> int:
    url = "" if context.typed.url == "none" else context.typed.url
    context.engine.settings.change(proxy=url)
    context.out.write(f"Requests go through {url}, but not those to this machine." if url else "No proxy is used.")
    return DONE


async def _choose(context: Context) -> int:
    typed = context.typed
    row = context.engine.session(typed.session)
    await context.engine.choose_model(row.id, typed.model, effort=typed.effort)
    context.out.write(f"{typed.model} goes on with “{row.title}”.")
    return DONE


ACTIONS: Mapping[str, Callable[[Context], Awaitable[int]]] = MappingProxyType(
    {
        "add": _add,
        "remove": _remove,
        "test": _test,
        "key": _key,
        "use": _use,
        "proxy": _proxy,
        "choose": _choose,
    }
)
