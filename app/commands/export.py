"""The command `export`: writes a session to a file or to standard output, or previews which secrets it would redact."""

from collections import Counter

from app.commands.invocation import Invocation
from app.process.exit_codes import DONE
from app.process.output import ascii_json

TEXT_FORMATS = ("md", "html")  # formats printed as they are; all others are JSON, which is printed in ASCII


async def export(context: Invocation) -> int:
    args, exchange = context.args, context.engine.exchange
    session = context.session_id()
    if args.dry_run:
        preview = await exchange.preview_export(session)
        for sample in preview.samples:
            context.out.write(f"{sample.session} event {sample.seq}: {sample.context}")
        context.out.write_error(_removed(preview.removed))
        return DONE
    if not args.file:
        lines = _LineWriter(context, is_json=args.form not in TEXT_FORMATS)
        removed = await exchange.stream_export(session, args.form, lines.write, keep_secrets=args.keep_secrets)
        lines.end()
        if removed:
            context.out.write_error(_removed(removed))
        return DONE
    path = context.path(args.file)
    result = await exchange.export(session, args.form, path, keep_secrets=args.keep_secrets)
    context.out.write_error(f"{result.path}: {result.size:,} bytes. {_removed(result.removed)}")
    return DONE


class _LineWriter:
    """Prints text that arrives in chunks of any length, one complete line at a time."""

    def __init__(self, context: Invocation, *, is_json: bool) -> None:
        self._write = context.out.write
        self._encode = ascii_json if is_json else str
        self._rest = ""

    def write(self, chunk: str) -> None:
        *lines, self._rest = (self._rest + chunk).split("\n")
        for line in lines:
            self._write(self._encode(line))

    def end(self) -> None:
        if self._rest:
            self._write(self._encode(self._rest))


def _removed(removed: Counter[str]) -> str:
    if not removed:
        return "No secrets were found."
    kinds = ", ".join(f"{kind} {count}" for kind, count in removed.most_common())
    return f"Secrets redacted: {removed.total():,} ({kinds})."
