"""Recognizes awk programs that only read their input and print."""

import re

STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
# Words that run programs, open other files or call functions indirectly, and characters that could mislead this parser.
UNSAFE = re.compile(r"\b(?:system|getline|ARGV|ARGC|SYMTAB|FUNCTAB|PROCINFO|extension)\b|[@#\\`'\"]|(?<!\|)\|(?!\|)")
REDIRECTION = re.compile(r">(?!=)")
TOKEN = re.compile(r"[{}]|>(?!=)")


def only_prints(program: str) -> bool:
    """Return whether an awk program certainly writes no files, runs no programs and opens no other files.

    A `/` can begin a regular expression, in which quotes and braces have no meaning. A program with one is therefore
    accepted only without strings and redirections.
    """
    if "/" in program:
        return not ('"' in program or REDIRECTION.search(program) or UNSAFE.search(program))
    code = STRING.sub(" 0 ", program)
    if UNSAFE.search(code):
        return False
    depth = 0
    for token in TOKEN.findall(code):
        if token == ">" and depth:  # within braces `>` redirects output; outside it compares
            return False
        depth += {"{": 1, "}": -1}.get(token, 0)
        if depth < 0:
            return False
    return depth == 0
