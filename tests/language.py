"""The banned words of the project: a pattern each, the word to use instead, and a sample that breaks it.

The patterns are checked in comments, docstrings and string literals of the source, in the help, in prompts and in the
README. A pattern matches a phrase rather than a word wherever the word has a legitimate use ("wall clock", "in fact").
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

SOURCE = ("app/", "ui/", "core/", "packaging/", "tests/")
PAGES = ("resources/help/", "resources/docs/", "resources/prompts/", "resources/skills/", "resources/demo/")
SKIPPED = re.compile(r"/golden/|^tests/(test_)?language\.py$|^resources/demo/.*\.(csv|txt)$|/licen[cs]es?/", re.I)
PAGE_NAME = re.compile(r"(\.md|^resources/demo/.*\.json)$")
CODE_LIKE = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|WITH|ALTER|DROP|BEGIN|import |from \w+ import|#!|<svg|\{\")"
)
REGEX_LIKE = re.compile(r"\\[bBdDsSwW.]|\(\?[:=!<P]")


class Text(NamedTuple):
    """A comment, docstring, string literal or line of a page."""

    path: str
    line: int
    kind: str  # comment, docstring, literal or page
    text: str


class Ban(NamedTuple):
    """A banned pattern.

    `style` marks patterns of unidiomatic sentences. They are not checked in the literals of tests, which contain sample
    data such as replies of a model.
    """

    instead: str
    pattern: str
    sample: str
    style: bool = False


class Allowed(NamedTuple):
    """A use of a banned word that is correct: files whose path matches, the text, and the reason."""

    ban: str
    path: str
    text: str
    reason: str


AGENT = (
    r"(?:it|model|agent|program|tool|server|provider|code|library|command|call|skill|window|test|engine|run|that|which)"
)

# The glossary: words of our own that have a standard counterpart.
GLOSSARY: dict[str, Ban] = {
    "walls": Ban(
        "sandbox", r"\bwalls\b|\b(?:a|the|behind|this|no|its) wall\b(?![- ](?:clock|time))", "behind the walls"
    ),
    "confined": Ban("sandboxed", r"\bconfine[ds]?\b", "a confined command"),
    "stranger": Ban("untrusted content", r"\bstrangers?\b", "the words of strangers"),
    "untrusted_content_read": Ban("untrusted content", r"\btaint(?:s|ed|ing)?\b", "the run is tainted"),
    "way out": Ban("network access, outbound access", r"\bways? out\b", "the only way out"),
    "obey": Ban("follow its project instructions", r"\bobey(?:s|ed|ing)?\b", "obey a folder"),
    "brings along": Ban("project instructions", r"\bbr(?:ing|ings|ought) along\b", "what the folder brings along"),
    "agents of others": Ban("external agent (ACP)", r"\bagents? of others\b|\boutside agents?\b", "an agent of others"),
    "guest": Ban("external agent (ACP)", r"\bguests?\b", "the guest asks"),
    "tool server": Ban("MCP server", r"\btool servers?\b|\bservers? of tools\b", "Add a tool server"),
    "model server": Ban("provider", r"\bmodel servers?\b|\bservers? of models\b", "no model server"),
    "wire": Ban(
        "API format", r"\b(?:an?|its|each|every|which|this|another|our|all|four) wires?\b|\bwires of\b", "which wire"
    ),
    "consent": Ban("permission request, approval", r"\bconsent(?:s|ed|ing)?\b", "it needs consent"),
    "a word": Ban(
        "permission request, approval",
        r"\b(?:without|needs?|wants?|waits? for|gets?|no|unless by) a word\b",
        "run without a word",
    ),
    "a yes": Ban("approval", r"\ba (?:yes|no)\b(?![\w\"'`-]| (?:answer|to))", "after a yes"),
    "for good": Ban("saved rule; permanently", r"\bfor good\b", "a yes for good"),
    "fact": Ban(
        "event",
        r"\b(?:acknowledged|recorded|journal'?s?|each|every|one|single|last|first|next|new|thousand|raw) facts?\b"
        r"|\bfacts? of (?:an?|the|its|this|other) (?:run|session|journal)"
        r"|\bfacts? (?:is|are|was|were) (?:told|written)\b"
        r"|\bappend\w* (?:an? |the )?facts?\b|\bkinds? of facts?\b|\ba fact of a kind\b",
        "every acknowledged fact",
    ),
    "entry": Ban(
        "event", r"\bentr(?:y|ies) (?:of|in) (?:the|a|its) journal|\bjournal entr(?:y|ies)\b", "an entry of the journal"
    ),
    "round": Ban(
        "turn",
        r"(?<!other way )(?<!all )(?<!year )(?<!go )(?<!goes )(?<!turn )\brounds?\b"
        r"(?![- ](?:trips?|robin|to|up|down|off|half|brackets?|corners?|about|numbers?|robins)\b)"
        r"(?! (?:values|fractions|delays)\b)|--max-rounds",
        "ends after 20 rounds",
    ),
    "verdict": Ban("rating", r"\bverdicts?\b", "your verdict"),
    "judged": Ban("rated", r"\bjudged\b", "a run that was judged"),
    "side by side": Ban("compare; split view", r"\bla(?:y|ys|id) .{0,40}\bside by side\b", "lay two runs side by side"),
    "beside": Ban(
        "split view; next to; compared with",
        r"\bbeside (?:it|others?|each other|another|the others?|that|them|us)\b",
        "shown beside another",
    ),
    "put back": Ban(
        "revert (files), restore (session, backup)", r"\bput(?:s|ting)? (?:\w+ ){0,3}back\b", "put it back"
    ),
    "take back": Ban(
        "revoke (rule), remove from queue (message), undo (memory)",
        r"\bt(?:ake|akes|ook|aken|aking) back\b",
        "taken back",
    ),
    "own record": Ban(
        "replay", r"\b(?:its|their) own record\b|\bplayed? from (?:its|the) record\b", "from its own record"
    ),
    "head of a skill": Ban(
        "front matter", r"\bhead of (?:an?|the|its|every) (?:skill|file)\b|\bskill's head\b", "the head of a skill"
    ),
    "look back": Ban("review", r"\blook(?:s|ed|ing)? back\b", "Journeyman looks back at a run"),
    "fading": Ban("decay", r"\bfading (?:memor|one|list)|\bmemor(?:y|ies) fades?\b|^Fading$", "a memory fades"),
    "strength": Ban(
        "relevance", r"\bstrength of (?:an?|the|each|its) memor|\bmemory's strength\b", "the strength of a memory"
    ),
    "meaning": Ban(
        "semantic search, embeddings",
        r"\bmodels? of meaning\b|\b(?:search|find|found|compare)\w* by (?:meaning|what (?:it|they) means?)\b"
        r"|\bby what (?:it|they) means?\b",
        "found by what it means",
    ),
    "folded": Ban(
        "truncated (result)", r"\b(?:results?|outputs?|replies) (?:is|are|was|were) folded\b", "the result was folded"
    ),
    "calls as text": Ban("text-based tool calls", r"\bcalls (?:written |given )?as text\b", "calls as text"),
    "signs": Ban(
        "characters",
        r"\b(?:\d[\d,]*|so many|many|most|few|hidden|invisible|control|typographic|all its) signs?\b",
        "at most 80 signs",
    ),
    "blanks": Ban("spaces", r"\bblanks\b|\bholds? a blank\b|\bblank in\b", "a path with blanks"),
    "letters": Ban(
        "text size",
        r"\b(?:[Ll]arger|[Ss]maller|[Bb]igger|usual) letters\b|^Letters of\b|\bsize of letters\b",
        "Larger letters",
    ),
    "taken in": Ban("imported", r"\bt(?:aken|ook) in\b", "a session that was taken in"),
    "rubbish": Ban("garbage, garbage collection", r"\brubbish\b", "look for rubbish"),
    "made a mistake": Ban("Internal error", r"\bmade a mistake\b", "Journeyman made a mistake"),
    "what/why/do": Ban(
        "error / cause / fix (CLI: error: hint:)", r"(?m)^ *(?:what|why|do): ", "what: No model is set."
    ),
    "user": Ban(
        "user",
        r"\b(?:the|an?|each|every|no|this|that|any|one|as|another) persons?\b|\bpersons\b|\bof person\b",
        "the person",
    ),
    "gives a key": Ban(
        "set the API key, API key",
        r"\bgiv(?:e|es|en|ing) (?:an? |it a |the )?keys?\b"
        r"|(?<!API )\bkeys? of (?:the |a )?(?:model )?(?:servers?|providers?)\b",
        "keys of servers",
    ),
    "by keys": Ban(
        "keyboard, keyboard shortcut", r"\b(?:by|with) keys\b(?! )|\bkeys alone\b|\bsheet of keys\b", "by keys"
    ),
    "makers": Ban("the developer", r"\b(?:its|their|the) makers?\b", "ask its makers"),
    "New run": Ban("New session", r"\bNew run\b", "New run"),
    "percent": Ban('"55%" without a space', r"(?<![%\w])\d+ %(?![\w(%}]| \d)", "55 % full"),
    "shortcut": Ban('"Ctrl+N" without spaces', r"\b(?:Ctrl|Alt|Shift) \+ ", "Ctrl + N"),
    "ellipsis": Ban('"…" without a space before it', r"[a-z] …(?:$|[\"')])", "Import …"),
    "spelling": Ban(
        "the American spelling",
        r"(?:colour|behaviour|neighbour|favour|honour)|\b(?:cancell|labell|modell|travell)(?:ed|ing)\b"
        r"|\b(?:initial|organ|recogn|serial|normal|summar|optim|author)is(?:e|es|ed|ing|ation)\b",
        "the colour of waiting",
    ),
}

# Idiomatic sentences, and no personification of software.
STYLE: dict[str, Ban] = {
    "of it": Ban(
        "the noun it stands for",
        r"(?<!because )(?<!instead )(?<!ahead )(?<!out )(?<!outside )(?<!inside )(?<!part )\bof it\b",
        "the size of it cached",
        style=True,
    ),
    "of others": Ban(
        "the noun: of other programs, of other providers", r"\bof others\b", "tools of others", style=True
    ),
    "where there is none": Ban(
        "if there is none", r"\bwhere there (?:is|are|was) no\w*\b", "empty where there is none", style=True
    ),
    "is no": Ban(
        "is not a",
        r"(?<![Tt]here )\b(?:is|are|was) no "
        r"(?!(?:longer|more|matter|need|reason|use|better|larger|later|slower|faster|higher|lower|different)\b)",
        "this is no server",
        style=True,
    ),
    "stands": Ban(
        "is",
        r"\bstands?\b(?![- ](?:for|in|out|alone|by)\b|-)|\bst(?:ood|and|ands|anding) still\b",
        "it stands here",
        style=True,
    ),
    "lies": Ban("is", r"\blies\b", "the file lies there", style=True),
    "so long": Ban("as long as, until", r"\b(?<!for )so long\b", "so long as it runs", style=True),
    "anew": Ban("again", r"\banew\b", "made anew", style=True),
    "mend": Ban("repair, fix", r"\bmend(?:s|ed|ing)?\b", "mend the file", style=True),
    "told": Ban(
        "report, notify, show: name who does it",
        r"\b(?:is|are|was|were|be|been|being|gets?|only|what|who|whoever|nobody is) told\b"
        r"|\btold (?:to whoever|in words)\b",
        "the run is told",
        style=True,
    ),
    "tells": Ban(
        "report, return, show",
        r"\bit tells\b|\btells (?:whoever|what|who|how|which|the)\b",
        "it tells who asks",
        style=True,
    ),
    "said": Ban(
        "message, output, result",
        r"\bwhat (?:\w+ ){1,3}said\b|\b(?:is|are|was|were|not|been|be) said\b|\bsaid so\b|\bwhat is said\b",
        "what a server said",
        style=True,
    ),
    "wants": Ban(
        "needs, requests, asks for", rf"\b{AGENT} wants\b|\bwhat \w+ wants\b", "the server wants a key", style=True
    ),
    "speaks": Ban("use, support (an API, a protocol)", r"(?<!reader )\bspeaks\b", "it speaks HTTP", style=True),
    "hears": Ban("receive", r"\bhears?\b|\bheard\b", "whoever hears it", style=True),
    "whoever": Ban(
        "the caller, the listener, the user",
        r"\bwhoever (?:ask|call|hear|listen|open|show|start|wait|writ|wrote|want)\w*",
        "whoever listens",
        style=True,
    ),
}
BANS = {**GLOSSARY, **STYLE}
CASE_SENSITIVE = {"New run", "letters", "fading", "shortcut"}

ALLOWED = (
    Allowed("walls", r"^tests/bench/window\.py$", r"photo of wall", "sample session about photos of damp walls"),
    Allowed(
        "walls",
        r"^(resources/demo/|app/sample_|tests/screens/|tests/)",
        r"damp|photo|wall \d|covered the wall",
        "the sample letter is about damp walls",
    ),
    Allowed("round", r"^(ui/|tests/ui/)", r"\brounded?\b|round (cap|dot|button)|corner", "shape of a control"),
    Allowed("consent", r"\.py$", r"OAuth", "the consent page of an OAuth provider is called that"),
    Allowed("hears", r"screen.reader|access", r"screen reader", "a user hears what a screen reader says"),
    Allowed("tells", r"", r"tells the time", "a clock does"),
    Allowed("obey", r"^tests/", r"OBEYED|Obey me\.|Agents, obey:|\"obey\"", "injected instructions in tests"),
    Allowed("ellipsis", r"skill", r"Use it when …", "the ellipsis stands for text of the author"),
    Allowed("ellipsis", r"^core/(tools|workspace)/", r"bytes omitted …", "marks the cut in shortened output"),
    Allowed("fact", r"^resources/skills/", r"each fact (with its source|note)", "facts of a report, not events"),
    Allowed(
        "verdict", r"^resources/skills/code-review/", r"Verdict: ready", "the result of a code review is called that"
    ),
    Allowed("verdict", r"^core/store/former_names\.py$", r"verdict", "a stored name that the migration replaces"),
    Allowed("untrusted_content_read", r"^core/store/former_names\.py$", r"Tainted", "a former stored name"),
    Allowed("take back", r"^core/store/former_names\.py$", r"taken back", "a former stored value"),
    Allowed("put back", r"^core/store/former_names\.py$", r"put back", "a former stored value"),
    Allowed(
        "of others", r"^core/engine/policy/untrusted\.py$", r"the words of others in", "hashed, so it cannot change"
    ),
    Allowed("tool server", r"^core/mcp/server_config\.py$", r"^tool server$", "names existing entries of the keyring"),
)


def texts(path: str, source: str) -> Iterator[Text]:
    """Yield the texts of a file that people or models read; nothing for a file that is not checked."""
    if SKIPPED.search(path):
        return
    if path.endswith(".py") and path.startswith((*SOURCE, "resources/skills/")):
        yield from python_texts(path, source)
    elif path in ("README.md", "CHANGELOG.md") or (path.startswith(PAGES) and PAGE_NAME.search(path)):
        for number, line in enumerate(source.splitlines(), 1):
            yield Text(path, number, "page", line)


def python_texts(path: str, source: str) -> Iterator[Text]:
    """Yield the comments, docstrings and string literals of a Python file."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Text(path, token.start[0], "comment", token.string.lstrip("# "))
    docstrings = set()
    for node in ast.walk(ast.parse(source)):  # a statement comes before the constant in it
        if constant := docstring(node):
            docstrings.add(id(constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in docstrings:
                yield Text(path, node.lineno, "docstring", node.value)
            elif is_prose(node.value):
                yield Text(path, node.lineno, "literal", node.value)


def docstring(node: ast.AST) -> ast.Constant | None:
    """Return the docstring of a module, class or function, or the string below an attribute."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value
    return None


def is_prose(literal: str) -> bool:
    """Return whether a string literal is text for people or models rather than a name, a key, SQL, a regex or code."""
    if CODE_LIKE.match(literal) or REGEX_LIKE.search(literal) or ("\nimport " in literal and "\ndef " in literal):
        return False
    return bool(re.search(r"[A-Za-z]{2}", literal)) and (" " in literal.strip("\n") or literal[0].isupper())


class Finding(NamedTuple):
    """A banned word in a text."""

    ban: str
    path: str
    line: int
    match: str
    context: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.match!r}: use {BANS[self.ban].instead}: {self.context}"


def findings(text: Text) -> Iterator[Finding]:
    """Yield the banned words of a text that no exception allows."""
    for name, ban in BANS.items():
        if ban.style and text.kind == "literal" and text.path.startswith("tests/"):
            continue
        for match in PATTERNS[name].finditer(text.text):
            start = max(0, match.start() - 40)
            context = " ".join(text.text[start : match.end() + 40].split())
            if not any(fits(allowed, name, text.path, context) for allowed in ALLOWED):
                line = text.line + text.text.count("\n", 0, match.start())
                yield Finding(name, text.path, line, match.group(), context)


def fits(allowed: Allowed, name: str, path: str, context: str) -> bool:
    """Return whether an exception applies to a use of a banned word."""
    same = allowed.ban == name and re.search(allowed.path, path)
    return bool(same and re.search(allowed.text, context))


PATTERNS = {name: re.compile(ban.pattern, 0 if name in CASE_SENSITIVE else re.IGNORECASE) for name, ban in BANS.items()}
