"""Makes keys of the formats that services use, in the encodings in which they reach a request."""

import json
import random
import string
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from urllib.parse import quote

from core.domain.redact import Redactor

Encode = Callable[[str], str]
MIN_LEAK = 12  # characters of a key that must not remain together

ALNUM = string.ascii_letters + string.digits
WORD = ALNUM + "_-"
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
BASE64 = ALNUM + "+/"
BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"

# The keys as the services describe them: `{alphabet:length}` is replaced by as many random characters.
FORMATS: tuple[str, ...] = (
    "ghp_{ALNUM:36}",
    "gho_{ALNUM:36}",
    "ghs_{ALNUM:36}",
    "ghu_{ALNUM:36}",
    "ghr_{ALNUM:36}",
    "github_pat_{ALNUM:22}_{ALNUM:59}",
    "glpat-{WORD:20}",
    "gldt-{WORD:20}",
    "glrt-{WORD:20}",
    "glptt-{HEX:40}",
    "glsoat-{WORD:20}",
    "gloas-{HEX:64}",
    "glpat-{WORD:27}.01.{LOWER:9}",
    "GR1348941{WORD:20}",
    "xoxb-1234567890123-1234567890123-{ALNUM:24}",
    "xoxp-123456789012-123456789012-123456789012-{HEX:32}",
    "xapp-1-A{UPPER:10}-1234567890123-{HEX:64}",
    "xoxe-1-{UPPER:146}",
    "https://hooks.slack.com/services/T{UPPER:8}/B{UPPER:8}/{ALNUM:24}",
    "AKIA{UPPER:16}",
    "ASIA{UPPER:16}",
    "ABSK{BASE64:120}",
    "AIza{WORD:35}",
    "GOCSPX-{WORD:28}",
    "ya29.{WORD:120}",
    "1//0{WORD:60}",
    "sk-{ALNUM:48}",
    "sk-proj-{WORD:74}T3BlbkFJ{WORD:74}",
    "sk-ant-api03-{WORD:93}AA",
    "sk-or-v1-{HEX:64}",
    "sk_live_{ALNUM:24}",
    "rk_test_{ALNUM:99}",
    "whsec_{ALNUM:32}",
    "gsk_{ALNUM:52}",
    "xai-{ALNUM:80}",
    "pplx-{ALNUM:48}",
    "hf_{ALNUM:34}",
    "r8_{ALNUM:37}",
    "nvapi-{WORD:64}",
    "tvly-dev-{ALNUM:32}",
    "lsv2_pt_{HEX:32}_{HEX:10}",
    "hvs.{WORD:95}",
    "hvs.{WORD:24}",
    "hvb.{WORD:140}",
    "{ALNUM:14}.atlasv1.{WORD:67}",
    "dapi{HEX:32}",
    "dapi{HEX:32}-2",
    "npm_{ALNUM:36}",
    "pypi-AgEIcHlwaS5vcmc{WORD:90}",
    "rubygems_{HEX:48}",
    "dckr_pat_{WORD:27}",
    "dop_v1_{HEX:64}",
    "HRKU-AA{WORD:58}",
    "pscale_tkn_{WORD:43}",
    "{WORD3:3}8Q~{WORD:34}",
    "AccountKey={BASE64:86}==",
    "SharedAccessKey={BASE64:43}=",
    "https://a.blob.core.windows.net/c?sv=2024-08-04&sr=b&sig={BASE64U:43}%3D",
    "7{DIGITS:9}:AA{WORD:33}",
    "M{ALNUM:23}.{ALNUM:6}.{WORD:27}",
    "https://discord.com/api/webhooks/123456789012345678/{WORD:68}",
    "AGE-SECRET-KEY-1{BECH32:58}",
    "SK{HEX:32}",
    "AC{HEX:32}",
    "SG.{WORD:22}.{WORD:43}",
    "{HEX:32}-us12",
    "key-{HEX:32}",
    "xkeysib-{HEX:64}-{ALNUM:16}",
    "re_{ALNUM:8}_{ALNUM:24}",
    "PMAK-{HEX:24}-{HEX:34}",
    "ntn_{ALNUM:46}",
    "pat{ALNUM:14}.{HEX:64}",
    "lin_api_{ALNUM:40}",
    "figd_{WORD:40}",
    "ATATT3{WORD:180}",
    "shpat_{HEX:32}",
    "sq0atp-{WORD:22}",
    "EAAC{ALNUM:120}",
    "glsa_{ALNUM:32}_{HEX:8}",
    "sntryu_{HEX:64}",
    "NRAK-{UPPER:27}",
    "dt0c01.{UPPER:24}.{UPPER:64}",
    "sgp_{HEX:40}",
    "pul-{HEX:40}",
    "dp.pt.{ALNUM:43}",
    "tskey-auth-{ALNUM:17}-{ALNUM:32}",
    "eyJhbGciOiJIUzI1NiJ9.eyJ{WORD:60}.{WORD:43}",
    "postgres://u:{ALNUM:2}@db/x",
    "postgres://u:{WORD:20}@db.example.org:5432/x",
    "redis://:{ALNUM:16}@cache:6379",
    "mongodb+srv://app:{ALNUM:14}@c.example.net/x",
    "Server=db;User Id=sa;Password={ALNUM:12};Encrypt=true",
    "machine h.example login ada password {ALNUM:12}\n",
    "//npm.example.org/:_authToken={HEX:36}",
    "aws_secret_access_key = {BASE64:40}",
    "DATADOG_API_KEY={HEX:32}",
    "TWILIO_AUTH_TOKEN={HEX:32}",
    "client_secret: {WORD:40}",
    "-----BEGIN PRIVATE KEY-----\n{BASE64:64}\n{BASE64:64}\n-----END PRIVATE KEY-----\n",
    "-----BEGIN OPENSSH PRIVATE KEY-----\n{BASE64:70}\n{BASE64:70}\n-----END OPENSSH PRIVATE KEY-----\n",
)
ALPHABETS: Mapping[str, str] = {
    "ALNUM": ALNUM,
    "WORD": WORD,
    "WORD3": ALNUM,
    "LOWER": LOWER,
    "UPPER": UPPER,
    "HEX": HEX,
    "BASE64": BASE64,
    "BASE64U": ALNUM,
    "BECH32": BECH32,
    "DIGITS": string.digits,
}
ENCODINGS: Mapping[str, Encode] = {
    "plain": lambda key: f"The value is {key} for now.",
    "alone": str,
    "quoted": lambda key: f'x = "{key}"',
    "in parentheses": lambda key: f"call({key}, 1)",
    "in code": lambda key: f"Use `{key}`.",
    "variable": lambda key: f"export THING={key}\n",
    "query": lambda key: f"https://example.org/?a=1&k={key}&b=2",
    "JSON": lambda key: json.dumps({"note": f"first line\n{key}\nlast line"}),
    "JSON in JSON": lambda key: json.dumps({"output": json.dumps({"text": f"a\n{key}\tb"})}),
    "JSON in JSON in JSON": lambda key: json.dumps([json.dumps([json.dumps([f'"{key}"\n'])])]),
    "URL": lambda key: "https://example.org/?next=" + quote(f" {key} ", safe=""),
    "URL twice": lambda key: "q=" + quote(quote(f"&k={key}&", safe=""), safe=""),
    "lowercase URL": lambda key: quote(f'"{key}"', safe="").replace("%2F", "%2f").replace("%3D", "%3d"),
    "escaped quotes": lambda key: f"\\u0022{key}\\u0022".replace("\n", "\\n"),
    "source code": lambda key: repr(f"a\n{key}\n"),
    "CRLF": lambda key: f"a\r\n{key}\r\nb".replace("-\n", "-\r\n"),
    "found by grep": lambda key: f"a: \x1b[01;31m\x1b[K{key[:4]}\x1b[m\x1b[K{key[4:]}\n",
    "colored": lambda key: f"{key[: len(key) // 2]}⟦U+001B⟧[0m{key[len(key) // 2 :]}",
    "soft hyphen": lambda key: f"{key[:9]}\u00ad{key[9:12]}⟦U+200B⟧{key[12:]}",
    "XML": lambda key: f"<v>{key}</v>",
}


def make_key(form: str, chance: random.Random) -> tuple[str, list[str]]:
    """Return a key of the form, and its random parts."""
    parts: list[str] = []
    text = ""
    for literal, field, length, _ in string.Formatter().parse(form):
        text += literal
        if field:
            part = "".join(chance.choices(ALPHABETS[field], k=int(length or 1)))
            part = (
                chance.choice(ALNUM if field in ("WORD", "BASE64") else part) + part[1:-1] + part[-1:].replace("-", "a")
            )
            text, parts = text + part, [*parts, part]
    return text, parts


def leaks(parts: Iterable[str], masked: str, encode: Encode = str) -> bool:
    """Return whether a random part of a key, or a long piece, is still in the masked text."""
    plain = masked.replace("\\/", "/")
    for part in parts:
        for form in {part, quote(part, safe=""), quote(quote(part, safe=""), safe="")}:
            if len(form) < MIN_LEAK:
                if len(form) > 2 and form in plain:
                    return True
            elif any(form[at : at + MIN_LEAK] in plain for at in range(len(form) - MIN_LEAK + 1)):
                return True
    return False


def find_leaks(count: int, seed: int = 1) -> Iterator[tuple[str, str, str, str]]:
    """Mask `count` keys, each in one encoding after the other, and yield those that leak."""
    chance, redactor = random.Random(seed), Redactor(uncertain=False)
    names = list(ENCODINGS)
    for number in range(count):
        form = FORMATS[number % len(FORMATS)]
        key, parts = make_key(form, chance)
        name = names[number // len(FORMATS) % len(names)]
        sent = ENCODINGS[name](key)
        masked = redactor.redact(sent)
        if leaks(parts, masked):
            yield form, name, sent, masked


def find_known_leaks(count: int, seed: int = 2) -> Iterator[tuple[str, str]]:
    """Mask configured keys without a format of their own, also in base64 with other text around them."""
    chance = random.Random(seed)
    names = list(ENCODINGS)
    for number in range(count):
        key = "".join(chance.choices(ALNUM + "+/=!$_-.", k=chance.randint(16, 60))).strip("=-.!") + "z"
        redactor = Redactor([key], uncertain=False)
        around = "u" * (number % 4)
        forms = [ENCODINGS[names[number % len(names)]](key), b64encode(f"{around}:{key}:{around}".encode()).decode()]
        for sent in forms:
            masked = redactor.redact(sent)
            whole = b64encode(f"{around}:{key}:{around}".encode()).decode()[4:-4]
            if leaks([key], masked) or leaks([whole], masked):
                yield key, masked
