"""Finds secrets that a sentence or a command states, such as "the password is hunter2".

A sentence about a secret does not state it: "the password is hashed", "the token endpoint is /oauth". A word that may
be a password is reported, because a false alarm costs less than a stored password.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NAME = (
    r"(pass(?:word|phrase|code)|passwd|pin|secret|api[ _-]?key|access[ _-]?key|token|kennwort|passwort|mot de passe|"
    r"contraseña|senha|wachtwoord|lösenord|пароль)"
)
_STATEMENT = re.compile(
    rf"(?i)\b{_NAME}\b(?P<gap>[^\n.;]{{0,40}}?)"
    r"(?:\b(?P<verb>is|ist|lautet|est)\b(?:\s+(?:now|currently|still|simply|just|again)\b)?|=|:)"
    r"\s*(?P<quote>[\"'`]?)(?P<value>[^\s\"'`,;]{4,200})"
)
_BARE_PASSWORD = re.compile(
    r"(?i)\b(pass(?:word|phrase|code)|passwd|kennwort|passwort)\s+[\"'`]?(?!(?:sha|argon|base|pbkdf|ed|oauth)-?\d)"
    r"(?P<value>(?=[^\s\"'`,;]*\d)(?=[^\s\"'`,;]*[a-z])[\w!#$%&*+?@^~-]{6,200})(?![\w/]|[.:=]\w)"
)
_ASSIGNED_PASSWORD = re.compile(  # not the folder in PWD=/home/x, a reference to a variable, or a count
    r"(?i)(?<![a-z0-9_])((?:\w*_)?(?:pass|pwd|passphrase)|\w*(?:password|passwd))=[\"']?"
    r"(?P<value>(?!\d{1,5}\b|\w+\.\w+[(\[]|[a-z]:\\|(?:true|false|none|null)\b)[^\s\"'`,;&/~$<{(.][^\s\"'`,;&]{3,199})"
)
_PASSWORD_OPTION = re.compile(
    r"\b(mysql|mariadb)[\w-]*\s[^\n|;&]*?(?<=\s)-p[\"']?"
    r"(?P<value>(?!\d+:\d)[^\s\"'`$<{-][^\s\"'`]{2,199})"
)
_CURL_LOGIN = re.compile(
    r"\b(curl)\b[^\n|;]*?\s(?:-u|--user)[ =]?[\"']?[^\s\"':$<{]+:(?P<value>(?!pass\w*\b)[^\s\"'`$<{][^\s\"'`]{2,199})"
)
_STATED_LOGIN = re.compile(
    r"\b((?i:login|credentials|zugangsdaten))\s*(?:is|are|ist|lautet|sind|:|=)\s*[\w.@+-]+\s?[/:]\s?"
    r"(?P<value>(?=\S*\d)(?=\S*[a-z])(?=\S*[A-Z])[^\s\"'`,;/.]{8,200})(?![/.]\w)"
)
# Logins that are not announced as such: "admin / Passw0rd!" and "jane@example.com:Tr0ub4dor&3". Names of paths,
# images and devices look like "admin/page2", "postgres:16-alpine" and "root: sda1".
_USER = r"(?:db|ftp|web|test|demo)?[_-]?(?:admin(?:istrator)?|root|user|sa|postgres)\d*"
_ACCOUNT = rf"(?i:[\w.+-]{{1,64}}@[\w.-]{{1,64}}|{_USER})"
_STRONG = r"(?=\S*\d)(?=\S*[a-z])(?=\S*[A-Z])"
_VALUE = r"[\w!#$%&*+?^~=@-]"
_LOGINS = tuple(
    re.compile(rf"(?<![\w/.@-]){account}[\"'`]?{separator}[\"'`]?(?P<value>{value})(?![\w/]|[.:]\w)")
    for account, separator, value in (
        (_ACCOUNT, r"\s+[/|]\s+", rf"(?=\S*\d)(?=\S*[A-Za-z]){_VALUE}{{6,200}}"),
        (_ACCOUNT, r"\s?[/:|]\s?", rf"{_STRONG}{_VALUE}{{8,200}}"),
        (r"[\w.+-]{2,64}", r"\s+[/|]\s+", rf"{_STRONG}(?=\S*[!#$%&*?^~=@]){_VALUE}{{8,200}}"),
    )
)
_OTHER_PATTERNS = (_BARE_PASSWORD, _ASSIGNED_PASSWORD, _PASSWORD_OPTION, _CURL_LOGIN, _STATED_LOGIN)
# Every match of the patterns above, except for those in _LOGINS, contains a hint.
_HINTS_TEXT = (
    "pass pin secret key token kennwort senha wachtwoord pwd mysql mariadb curl login credentials zugangsdaten"
)
_HINTS = tuple(_HINTS_TEXT.split())

# After the name: "key" and the like are still the secret itself, then a phrase that says which one.
_SECRET_ITSELF = re.compile(
    r"(?i)\s*(?:(?:key|value|string|code|word)\b\s*)?"
    r"(?:$|[^\w\s]|(?:of|for|to|on|in|at|from|by|with|we|i|you|they|that|which|used|here|now|für|von|zum|zur|pour|de)\b)"
)
# Nouns after the name that make it something else, also before a colon: "token endpoint: /oauth".
_PROPERTY = re.compile(
    r"(?i)\s*(?:\w+\s+){0,2}(?:argument|budget|cache|column|count|endpoint|entry|expiry|field|form|format|function|header|"
    r"input|job|layout|length|lifetime|limit|login|manager|name|option|page|parameter|parser|policy|prompt|property|"
    r"rotation|rules?|scope|screen|setting|settings|size|store|type|url|usage|variable|version)s?\s*$"
)
_RANDOM_STRING = re.compile(r"(?=.*\d)(?=.*[A-Za-z])(?!\d+[A-Za-z]{1,8}$|.*(?:==|/)|[\w.-]+:\d{2,5}$|\w+\.\w+$).{6,}")
_PIN = re.compile(r"\d[\d-]{3,11}|(?=.*\d)(?![A-Za-z]+\d+$)[A-Za-z\d]{4,8}")  # not the pin GPIO4 of a board
_ALGORITHM = re.compile(r"(?i)(?:sha|argon|base|pbkdf|ed|oauth|md|aes|[rhep]s|v)-?\d+(?:-\w+)*")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_ORDINARY_WORD = re.compile(r"(?!.{20})(?:[A-Z]{1,8}|[A-Z]?[a-z]{2,17})+")
# What is not known before it is looked up: a variable, a field, a call, a placeholder, a path or an address.
_REFERENCE = re.compile(
    r"\$?\{{1,2}(?:[a-z_.]*|[A-Z_]*)\}*|\$[A-Z_]{2,}|<(?:[a-z_-]*|[A-Z_-]*)>?|%s|\*{3,}|x{4,}|https?://.*|"
    r"[a-z_.]+(?:\(\)?|\[)|"
    r"(?:self|settings|config|os|env|args|request|options|secrets|process)(?:\.[A-Za-z_]+)+|"
    r"(?:~|\.{0,2})(?:/[a-z\d_.-]{1,40}){2,}/?|"
    r"(?=[A-Z_\d]*(?:KEY|TOKEN|SECRET|PASS|PWD))[A-Z][A-Z\d]*(?:_[A-Z\d]+)+"
)
_PREDICATE = re.compile(
    r"(?:[a-z]+-)?(?:[a-z]{3,}(?:ed|able|ible|ional|ory|ly)|about|above|across|again|also|always|among|another|base|"
    r"behind|below|between|bound|built|case|chosen|different|each|eight|empty|even|five|forgotten|found|four|from|"
    r"generated|given|global|half|held|here|hidden|inside|invalid|just|kept|known|like|local|long|lost|made|missing|"
    r"more|much|never|nine|none|once|only|opaque|over|part|pending|permanent|private|public|random|read|redundant|"
    r"reset|safe|same|seen|sensitive|sent|separate|seven|short|shown|single|some|sometimes|stale|static|still|strong|"
    r"such|taken|then|there|this|three|through|too|twice|under|unique|unknown|unsafe|using|valid|very|weak|what|when|"
    r"where|whether|with|without|written|wrong|your)"
)
_GERMAN_PREDICATE = re.compile(r"(?:ge|ver|be|ab|ein)[a-zäöüß]+(?:t|en)|falsch|geheim|kurz|lang|leer|nicht|noch|nur")
_HARMLESS_TEXT = (
    "set needed required empty missing wrong asked stored kept found used read given not the true false none null"
)
_HARMLESS = frozenset(_HARMLESS_TEXT.split())
_GENERATED = ("api", "access", "token")  # The names of secrets that never consist of words begin with these.


@dataclass(frozen=True, slots=True)
class StatedSecret:
    """A secret in a text by its position, and the word that says what it is."""

    name: str
    start: int
    end: int


def stated_secrets(text: str) -> Iterator[StatedSecret]:
    """Yield the secrets that a text states. They may overlap."""
    for login in _LOGINS:
        for found in login.finditer(text):
            yield StatedSecret("password", *found.span("value"))
    if not _may_contain_secret(text):
        return
    position = 0
    while match := _STATEMENT.search(text, position):
        if _is_secret(match):
            yield _secret(match)
            position = match.end()
        else:
            position = match.end(1)  # the gap may contain another name
    for pattern in _OTHER_PATTERNS:
        for match in pattern.finditer(text):
            if not _is_harmless(match["value"]):
                yield _secret(match)


def _may_contain_secret(text: str) -> bool:
    """Return whether to search the text. This is a fast filter before the regular expressions.

    A non-ASCII text is always searched, because several characters can be case variants of the same letter.
    """
    folded = text.lower()
    return not text.isascii() or any(hint in folded for hint in _HINTS)


def _secret(match: re.Match[str]) -> StatedSecret:
    return StatedSecret(match[1].lower(), *match.span("value"))


def _is_secret(match: re.Match[str]) -> bool:
    """Return whether the value in a match of _STATEMENT is a secret, not a description of one."""
    name, gap, value = match[1].lower(), match["gap"], match["value"].rstrip(".:!?")
    if _is_harmless(value) or _ALGORITHM.fullmatch(value) or _REFERENCE.fullmatch(value):
        return False
    is_about_property = not _SECRET_ITSELF.match(gap) and (match["verb"] or _PROPERTY.match(gap))
    if is_about_property:
        return bool(_RANDOM_STRING.fullmatch(value))
    if name == "pin":
        return bool(_PIN.fullmatch(value))
    if not _WORD.fullmatch(value):
        return True
    if name.startswith(_GENERATED):
        return bool(match["quote"]) or not all(map(_ORDINARY_WORD.fullmatch, value.split("-")))
    if match["quote"] or not match["verb"]:
        return True
    predicate = _PREDICATE if match["verb"].lower() == "is" else _GERMAN_PREDICATE
    return not predicate.fullmatch(value)


def _is_harmless(value: str) -> bool:
    return value.lower().rstrip(".") in _HARMLESS
