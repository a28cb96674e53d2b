"""Recognizes English tasks that ask for work, and English replies that promise or claim it; no other language."""

import re
from collections.abc import Iterator

# Verbs that ask for a change of files, with any object, and verbs that ask for another effect.
_CHANGE = r"add(?!\s+up\b)|append|correct|edit|fix|implement|insert|modify|patch|refactor|rename|repair|replace"
_WORK = (
    f"{_CHANGE}|apply|bump|commit|delete|deploy|execute|install|merge|migrate|move|port|remove|revert|run|uninstall|"
    "update|upgrade"
)
# Verbs that may also ask for an answer in words, so they count only if their sentence mentions a file or code.
_MAYBE = (
    "adapt|adjust|bring|build|capitalize|change|clean|collect|combine|compile|complete|convert|copy|create|drop|"
    "extend|extract|fill|finish|format|generate|get rid of|join|make|number|optimize|prepare|put|reorder|reorganize|"
    "resolve|rewrite|save|set|shorten|sort|split|store|swap|tick|tidy|translate|trim|turn|write"
)
_LOOKING = (
    "add up|analyze|begin|call|check|examine|explore|find|inspect|investigate|list|look|open|read|review|search|see|"
    "start|try|use|verify|view"
)
_ANSWERING = (
    "answer|calculate|cite|compare|compute|count|define|estimate|give|list|name|outline|print|quote|report|say|sum|"
    "summarize"
)
_OBJECT = re.compile(
    r"\b[\w-]+\.\w{1,5}\b|\b(?:bugs?|branch|class|code|director(?:y|ies)|files?|folders?|functions?|lines?|methods?|"
    r"modules?|packages?|projects?|repo(?:sitory)?|scripts?|tests?)\b",
    re.IGNORECASE,
)
_START = r"(?:^|[.!;:,\n]\s*|\b(?:please|then|and|also|now|just|you|must|should|go ahead and|let's|to)\s+)"
_REQUEST = re.compile(rf"{_START}(?P<verb>{_WORK}|{_MAYBE})\b", re.IGNORECASE)
_QUESTION = re.compile(
    r"\s*(?:how|what|why|when|where|which|who|whose|explain|describe|tell|show|is|are|was|were|do|does|did|should|"
    r"could i|can i|has|have)\b",
    re.IGNORECASE,
)
_POLITE_REQUEST = re.compile(
    r"(?:(?<=^)|(?<=[.!?:;,]\s))(?:can|could|will|would) you\b(?: (?:kindly|maybe|please))*(?P<request>[^?\n]*)\?",
    re.IGNORECASE,
)
_POLITE_ENDING = re.compile(r",?\s*\b(?:can|could|will|would) you(?: please)?\s*\?(?=\s|$)", re.IGNORECASE)
# Words of sentences that ask for an answer, forbid something or praise it.
_FOR_WORDS = re.compile(
    rf"\b(?:{_ANSWERING}|{_LOOKING}|answers?|describe|don'?t|explain|explanation|fine|good|great|ideas?|know|never|not|"
    r"okay|opinion|overview|perfect|summary|tell|understand|without|wonder(?:ing)?)\b",
    re.IGNORECASE,
)
_THIS_FOLDER = re.compile(
    r"\b(?:in|of) (?:my|our|the|these|this) (?:\w+ )?"
    r"(?:code(?:base)?|director(?:y|ies)|files?|folder|project|repo(?:sitory)?)\b",
    re.IGNORECASE,
)
_PROMISE = re.compile(
    r"\b(?:I'?ll|I will|I'?m going to|I am going to|I'?m about to|let me|let's|we(?:'ll| will)|(?:I|we) need to)\s+"
    r"(?:(?:now|first|then|next|also|just|quickly|go ahead and|start by|begin by)\s+)*"
    rf"(?:{_WORK}|{_MAYBE}|{_LOOKING})(?:ning|ting|ing)?\b",
    re.IGNORECASE,
)
_NEW_FILE = re.compile(
    r"\b(?:into|create|write|make|save|called|named|to)\s+(?:(?:an?|the|new|file|module|script)\s+)*"
    r"`?(?P<file>[\w-]+(?:[./][\w-]+)*\.[a-z]{1,5})\b(?!/)",
    re.IGNORECASE,
)
# Words at the start of a clause that are not verbs. No list could contain all verbs that ask to put something into a
# file, so any other word may be one, except verbs of change or looking, and inflected forms.
_NO_VERB = (
    "a|all|an|any|at|by|each|every|for|from|he|her|his|i|if|in|it|its|my|no|of|on|our|she|some|that|the|their|there|"
    "these|they|this|those|to|we|with|you|your"
)
_CLAUSE = re.compile(r"(?:^|[;:,]\s+|\b(?:please|then|and|also|now|just)\s+)(?P<verb>[a-z]{2,})\s", re.IGNORECASE)
_UNLIKELY = re.compile(rf"{_CHANGE}|{_LOOKING}|{_NO_VERB}|\w+(?:ing|ed|[^s]s)")
_PLACE = re.compile(
    r"\b(?:in|into|to|as|inside|under)\s+(?:(?:an?|the|new|file|module|script|named|called)\s+)*"
    r"`?(?P<file>[\w-]+(?:[./][\w-]+)*\.[a-z]{1,5})\b(?!/)",
    re.IGNORECASE,
)
_DONE = (
    "added|appended|applied|changed|cleaned|completed|converted|copied|corrected|created|deleted|done|edited|extracted|"
    "filled|finished|fixed|formatted|generated|implemented|inserted|installed|joined|made|merged|modified|moved|put|"
    "removed|renamed|replaced|resolved|rewritten|saved|set|sorted|split|stored|translated|updated|written|wrote"
)
_CLAIM = re.compile(
    rf"\b(?:I|we)(?:'ve| have)?\s+(?:(?:now|also|just|successfully)\s+)*(?:{_DONE})\b|"
    r"\b(?:I|we)(?:'ve| have)\s+(?:(?:now|also|just|successfully)\s+)*"
    r"(?!(?:analyzed|checked|examined|looked|needed|reviewed|searched|tried)\b)\w+ed\b|"
    rf"\b(?:has|have|was|were|is now|are now)\s+(?:(?:now|been|successfully)\s+)*(?:{_DONE})\b|"
    r"^\W*(?:all done|done|completed|finished)\b[^?]{0,20}$",
    re.IGNORECASE,
)
_CODE_FILE = re.compile(
    r"[\w.-]+(?:/[\w.-]+)*\.(?:c|cc|cpp|cs|css|go|h|html|java|js|jsx|kt|lua|php|pl|py|rb|rs|scala|sh|sql|swift|ts|tsx)"
)
_TEST_FILE = re.compile(r"(?:.*/)?(?:tests?/.*|test[_.-].*|.*[_.-](?:test|tests|spec)\.\w+)")
_TO_CHANGE = re.compile(
    rf"\b(?:in|into|to|of|so that|{_WORK}|{_MAYBE})\s+(?:(?:a|the|new|file|module|script)\s+)*(?P<file>[\w./-]+)\b",
    re.IGNORECASE,
)
_SEVERAL = re.compile(r"\w\.\w+(?:,| and| or) [\w/-]+\.\w")  # several file names in a row
_RELOCATION = re.compile(r"\b(?:delete|rename|move|split)\b", re.IGNORECASE)
_FILE_COPY = re.compile(r"\bcopy\s+(?:the\s+)?(?:file\s+)?`?[\w./-]+\.\w+`?\s+(?:in)?to\b", re.IGNORECASE)
_FILE_MOVE = re.compile(
    r"\b(?:rename|move)\s+(?:the\s+|all\s+)?(?:(?:file\s+)?`?[\w./-]+\.\w+`?\s+(?:in)?to\b"
    r"|(?:[\w*.-]+\s+){0,3}(?:documents|files|images|photos|pictures|recordings|scans|songs|videos)\b)",
    re.IGNORECASE,
)
_REMOVAL_OF_CODE = re.compile(r"\b(?:delete|drop|merge|move|remove|rename|replace|split)\b", re.IGNORECASE)
_FAULT = re.compile(
    r"\b(?:bugs?|correct|crash(?:es|ed)?|debug|defects?|errors?|fails?|failing|faults?|fix|repair|wrong)\b",
    re.IGNORECASE,
)
_CALCULATION = re.compile(
    r"\b(?:add(?:ed)? up|average|in total|calculate|compute|work out|the (?:mean|sum|total) of)\b", re.IGNORECASE
)
_FREQUENCY = re.compile(
    r"\b(?:(?:most|least) (?:common|frequent|often)|how (?:often|many times)|how many (?:of each|[\w ]{0,30}\beach\b)|"
    r"occurs? (?:most|least)|comes? up (?:most|least))",
    re.IGNORECASE,
)
_FAILING_TESTS = re.compile(
    r"\b(?:tests?|pytest|unittest)\b.*\b(?:broke(?:n)?|fail(?:s|ed|ing)?|green|pass(?:es)?|red)\b|"
    r"\b(?:broken|failing|red)\s+(?:\w+\s+)?tests?\b",
    re.IGNORECASE,
)
_HOW = re.compile(r"\b(?:how (?:do|can|could|should|would|to)|(?:which|what|a|the) command|explain)\b", re.IGNORECASE)
_ASKING = re.compile(r"\bask (?:me|the user)\b", re.IGNORECASE)
_CHECK = re.compile(
    r"`(?P<command>[^`\n]+)`\s+(?:(?:must|should|has to|still|always|now)\s+)*"
    r"(?:pass|succeed|work|fail|crash)(?:s|es)?\b",
    re.IGNORECASE,
)
_REMOVAL = re.compile(r"\b(?:delete|remove|rename|move|drop|not|never)\b", re.IGNORECASE)
_CONDITION = re.compile(r"\b(?:if you|once you|when you|after you|unless|would you like|let me know)\b", re.IGNORECASE)
_NAME = re.compile(r"[\w.-]+(?:/[\w.-]+)*")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def asks_for_work(task: str) -> bool:
    """Return whether a task asks for a change or a command, rather than only for an answer."""
    if check_command(task) and "?" not in task:
        return True
    return any(
        re.fullmatch(_WORK, match["verb"], re.IGNORECASE) or _OBJECT.search(sentence)
        for sentence, match in _requests(task)
    )


def implies_work(task: str) -> bool:
    """Return whether a task asks for work, or states something about a file, such as that it needs another line.

    A statement counts only if nothing in the task is a question or asks for words. No list of verbs could contain all
    that ask for a change ("tick that off in todo.md"), so any other sentence that names a file is taken for one.
    """
    if asks_for_work(task):
        return True
    sentences = _SENTENCE.split(_POLITE_ENDING.sub(".", _POLITE_REQUEST.sub(r"\g<request>.", task.strip())))
    if any("?" in sentence or _QUESTION.match(sentence) or _FOR_WORDS.search(sentence) for sentence in sentences):
        return False
    return any(named_files(sentence) for sentence in sentences)


def is_about_folder(task: str) -> bool:
    """Return whether a task is about what is in "this project", "our code" and the like."""
    return bool(_THIS_FOLDER.search(task))


def named_files(task: str) -> list[str]:
    """Return the words of a task that look like paths of files."""
    names = (match[0].rstrip(".-") for match in _NAME.finditer(task))
    return [name for name in names if "." in name or "/" in name]


def requested_files(task: str) -> list[str]:
    """Return the files that a task asks to write or create; none if it also moves or deletes files."""
    return [] if _REMOVAL.search(task) else list(dict.fromkeys(match["file"] for match in _NEW_FILE.finditer(task)))


def possible_results(task: str, *, has_source: bool) -> list[str]:
    """Return the files into which a task may ask to put something, whatever its verb.

    They may also be files to look into, so callers must only count files that do not exist. `has_source`: the task
    names another file, which exists. Otherwise a verb such as "list" asks for an answer.
    """
    if _REMOVAL.search(task):
        return []
    sentences = [
        sentence
        for sentence in _SENTENCE.split(task.strip())
        if not _QUESTION.match(sentence)
        and any(_may_put(match["verb"].lower(), has_source) for match in _CLAUSE.finditer(sentence))
    ]
    return list(dict.fromkeys(match["file"] for sentence in sentences for match in _PLACE.finditer(sentence)))


def _may_put(verb: str, has_source: bool) -> bool:
    if re.fullmatch(_ANSWERING, verb):
        return has_source
    return not _UNLIKELY.fullmatch(verb)


def code_to_change(task: str) -> str:
    """Return the one code file that a task asks to change or create; "" if there may be several.

    Names in commands and test files do not count. If some request names a file, names in other sentences do not count
    either: in "The test in test_a.py fails. Fix a.py.", only `a.py` does.
    """
    if not asks_for_work(task) or _RELOCATION.search(task):
        return ""
    prose = re.sub(r"`[^`\n]*`", " ", task)
    if _SEVERAL.search(prose):
        return ""
    names = named_files(prose)
    requests = {sentence for sentence, _ in _requests(prose)}
    matches = (match for sentence in requests for match in _TO_CHANGE.finditer(sentence))
    changed = {match["file"] for match in matches if match["file"] in names}
    code = {name for name in changed or names if is_code_file(name)}
    return code.pop() if len(code) == 1 and len(changed) <= 1 else ""


def is_code_file(name: str) -> bool:
    """Return whether a file contains source code other than tests, as far as its name tells."""
    return bool(_CODE_FILE.fullmatch(name)) and not is_test_file(name)


def is_test_file(name: str) -> bool:
    """Return whether a file contains tests, as far as its name tells."""
    return bool(_TEST_FILE.fullmatch(name))


def reports_failing_tests(task: str) -> bool:
    """Return whether a task says that tests fail or have to pass, and asks for work."""
    return asks_for_work(task) and any(map(_FAILING_TESTS.search, _SENTENCE.split(task)))


def asks_for_removal(task: str) -> bool:
    """Return whether a task asks to delete, rename or move something."""
    return bool(_REMOVAL_OF_CODE.search(task))


def asks_for_file_move(task: str) -> bool:
    """Return whether a task asks to rename or move a named file, or files of some kind."""
    return bool(_FILE_MOVE.search(task))


def asks_for_file_copy(task: str) -> bool:
    """Return whether a task asks to copy a named file."""
    return bool(_FILE_COPY.search(task))


def reports_fault(task: str) -> bool:
    """Return whether a task asks to correct a fault, or to make a command or tests succeed."""
    return asks_for_work(task) and bool(_FAULT.search(task) or check_command(task) or reports_failing_tests(task))


def asks_for_question(task: str) -> bool:
    """Return whether a task asks the agent to ask the user."""
    return bool(_ASKING.search(task))


def asks_for_calculation(task: str) -> bool:
    """Return whether the answer to a task must be calculated, which small models do wrongly without a program."""
    return bool(_CALCULATION.search(task)) or asks_for_frequency(task)


def asks_for_frequency(task: str) -> bool:
    """Return whether a task asks how often things occur, or which is the most frequent."""
    return bool(_FREQUENCY.search(task))


def asks_how(task: str) -> bool:
    """Return whether a task may be answered with a command for the user to run."""
    return bool(_HOW.search(task))


def check_command(task: str) -> str:
    """Return the command that, according to the task, must succeed or fails now; "" if there is none."""
    match = _CHECK.search(task)
    return match["command"].strip() if match else ""


def _requests(task: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Yield each verb of a request in a task, together with its sentence."""
    for sentence in _SENTENCE.split(task.strip()):
        if not _QUESTION.match(sentence):
            yield from ((sentence, match) for match in _REQUEST.finditer(sentence))


def promises_work(reply: str) -> bool:
    """Return whether a reply ends by announcing the model's next step, without a condition or a question."""
    text = reply.replace("\u2019", "'").strip()
    if text.endswith("?"):
        return False
    return any(_PROMISE.search(sentence) and not _CONDITION.search(sentence) for sentence in _SENTENCE.split(text)[-4:])


def claims_work(task: str, reply: str) -> bool:
    """Return whether a reply claims that something was done; always False if the task is a question."""
    if "?" in task or _QUESTION.match(task):
        return False
    text = reply.replace("\u2019", "'").strip()
    return any(_CLAIM.search(sentence) for sentence in _SENTENCE.split(text))
