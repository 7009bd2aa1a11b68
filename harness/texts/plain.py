"""Safe texts for output: no control character reaches a terminal, and no password a terminal or a file.

Texts come from files of outside users, and URLs may contain a user's credentials. Code that uses such a text (opens the
URL, quotes the path) has it unchanged; code that prints or writes it calls this module.
"""

from __future__ import annotations

import re

HIDDEN = "***"
_URL = re.compile(r"://[^\s\"'<>`]+")
_USER = re.compile(r"^://[^/?#]*@")
_SECRET = re.compile(
    r"([?&;][\w.-]*(?:token|secret|passw|pwd|sig|credential|key|auth)[\w.-]*=)[^&;#]*", re.ASCII | re.IGNORECASE
)
_SECRET_KEY = re.compile("token|secret|passw|pwd|credential|access_?key|AuthenticationUser", re.IGNORECASE)
# C0 except tab and newline, DEL, C1, line separators, and changes of a text's direction.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def without_secrets(text: str) -> str:
    """The text, without users, passwords, keys and tokens in its URLs."""
    return _URL.sub(_stripped, text) if "://" in text else text


def hidden(key: str, value: str) -> str:
    """The value of a setting without secrets; hidden completely if the key is that of a secret."""
    return HIDDEN if value and _SECRET_KEY.search(key) else without_secrets(value)


def plain(text: str) -> str:
    """:func:`without_secrets` for a terminal: control characters are escaped as ``\\\\x1b``."""
    return _UNSEEN.sub(lambda each: each[0].encode("unicode_escape").decode(), without_secrets(text))


def _stripped(url: re.Match[str]) -> str:
    return _SECRET.sub(rf"\g<1>{HIDDEN}", _USER.sub(f"://{HIDDEN}@", url[0]))
