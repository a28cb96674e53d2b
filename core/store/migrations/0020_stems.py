"""Indexes memories under the changed stems of *leave*, *choose*, *become*, *fly* and *mouse*."""

import sqlite3

# The former stem of irregular forms such as *left*, and the present one, which the base form always had.
STEMS = {"leave": "leav", "choose": "choos", "become": "becom", "fly": "fli", "mouse": "mous"}


def run(db: sqlite3.Connection) -> None:
    """Replace the stems in each memory and its index entry, which can only be removed with the words indexed so far.

    The fingerprints stay. Without an equal fingerprint, equal sentences are found by their words.
    """
    for key, status, words, context in db.execute("SELECT key, status, words, context_words FROM memory").fetchall():
        new_words, new_context = _restemmed(words), _restemmed(context)
        if (new_words, new_context) == (words, context):
            continue
        if status == "active":
            db.execute(
                "INSERT INTO memory_search (memory_search, rowid, words, context) VALUES ('delete', ?, ?, ?)",
                (key, words, context),
            )
            db.execute(
                "INSERT INTO memory_search (rowid, words, context) VALUES (?, ?, ?)", (key, new_words, new_context)
            )
        db.execute("UPDATE memory SET words = ?, context_words = ? WHERE key = ?", (new_words, new_context, key))


def _restemmed(words: str) -> str:
    return " ".join(STEMS.get(word, word) for word in words.split(" "))
