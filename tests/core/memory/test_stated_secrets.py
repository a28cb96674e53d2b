"""Which sentences state a secret, and which only speak about one."""

import pytest

from core.memory.content_checks import redact, refusal_reason

STATED = (
    ("The password is swordfish.", "swordfish"),
    ("The password of the wifi is sunshine", "sunshine"),
    ("The password (for the wifi) is sunshine", "sunshine"),
    ("The password field is hunter2", "hunter2"),
    ("The token endpoint password is hunter2", "hunter2"),
    ("The token is stored in the vault and the password is swordfish", "swordfish"),
    ("The password is asked at every start, and the password is hunter2", "hunter2"),
    ("password is now hunter2", "hunter2"),
    ("password staging: swordfish", "swordfish"),
    ('"password": "wanted"', "wanted"),
    ('The password is "expired"', "expired"),
    ("password: Xy(9kk!2", "Xy(9kk!2"),
    ("password: <3hunter2", "<3hunter2"),
    ("Das Passwort ist Gartenzaun", "Gartenzaun"),
    ("Le mot de passe est soleil", "soleil"),
    ("The passphrase is correct horse", "correct"),
    ("My pin is 4821", "4821"),
    ("PIN card: 0042", "0042"),
    ("The secret is sesame", "sesame"),
    ("The secret key is Zm9vYmFyYmF6", "Zm9vYmFyYmF6"),
    ("The token for the endpoint is abc-123-def", "abc-123-def"),
    ("The token is qWeRtYuIoP", "qWeRtYuIoP"),
    ('token: "swordfish"', "swordfish"),
    ("The API key of the server is zx81-kk-99", "zx81-kk-99"),
    ("access key = AKIDEXAMPLE99", "AKIDEXAMPLE99"),
    ("admin / Passw0rd!", "Passw0rd!"),
    ("The router at home: admin / Passw0rd! as always.", "Passw0rd!"),
    ("Staging uses `admin` / `hunter22`", "hunter22"),
    ("admin/Passw0rd!", "Passw0rd!"),
    ("root:Sup3rSecret", "Sup3rSecret"),
    ("test_user2 | letmein99", "letmein99"),
    ("jane@example.com / hunter22", "hunter22"),
    ("jane@example.com:Tr0ub4dor&3", "Tr0ub4dor&3"),
    ("jdoe / Tr0ub4dor&3", "Tr0ub4dor&3"),
)


@pytest.mark.parametrize(("text", "secret"), STATED)
def test_a_stated_secret_is_refused_and_removed(text: str, secret: str) -> None:
    assert refusal_reason(text).startswith("It contains a secret")
    assert secret not in redact(text)


@pytest.mark.parametrize("text", [text for text, _ in STATED] + ["The key is sk-abcdefghijklmnopqrstuvwx1234."])
def test_a_text_is_remembered_after_its_secrets_were_removed(text: str) -> None:
    """Otherwise the outcomes of runs could be exported, but not imported again."""
    redacted = redact(text)
    assert "removed]" in redacted and not refusal_reason(redacted) and redact(redacted) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "The token endpoint is https://auth.example.com/oauth/token.",
        "The token endpoint is /oauth/token.",
        "The token endpoint is documented in the wiki.",
        "The password field is mandatory.",
        "The password field is named pwd_hash in the schema.",
        "The password policy is 12 characters with symbols.",
        "The secret key rotation policy is quarterly.",
        "The secret key rotation policy: every 90 days.",
        "The API key header is X-Api-Key.",
        "The access token lifetime is 3600 seconds.",
        "The token limit of the model is 8192.",
        "The token bucket is refilled each second.",
        "The secret store is HashiCorp Vault.",
        "The password manager is Bitwarden.",
        "The password is hashed with argon2.",
        "The password is never logged.",
        "The password is case-sensitive.",
        "The API key is optional.",
        "The API key is passed as a header.",
        "API key: OPENAI_API_KEY",
        "The access key is rotated monthly.",
        "The token is a JWT that is signed with RS256.",
        "The token is refreshed every hour.",
        "A token is about four characters.",
        "The secret is mounted at /run/secrets/db.",
        "The reset pin is GPIO4.",
        "The PIN is four digits.",
        "Pin the version: use numpy==1.26.",
        "Use pin: true in the lock file.",
        'password=os.environ["DB_PASSWORD"]',
        "password = getpass.getpass()",
        "password: <your password>",
        "Use token=settings.token to log in.",
        "Das Passwort ist verschlüsselt gespeichert.",
        "The page admin/page2024 lists the users; see app/admin/Views2Models.py too.",
        "Use the image postgres:16-alpine3 and the disk root: sda1.",
        "User 42 / admin 7 / root",
        "React / Angular17, Python 3.12 / Node22 and pytest / unittest2 work.",
        "Mail jane@example.com / bob@example.com",
        "Run git@github.com:Acme/Repo2.git as user: jane42",
        "Copy ~/.config/User/Settings2.json to admin@host1:/srv/Backup2024/",
        "admin / editor / viewer",
    ],
)
def test_a_sentence_about_a_secret_states_none(text: str) -> None:
    assert not refusal_reason(text)
    assert redact(text) == text
