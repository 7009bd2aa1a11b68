"""Texts as they may be shown and kept: no control character reaches a terminal, and no password a terminal or a file.

Texts come from files of strangers, and URLs from a user who may have put credentials into them. What acts on such a
text (opens the URL, quotes the path) has it as it is; what prints or writes it asks here.
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
# C0 but for tab and newline, DEL, C1, line separators, and what turns the direction of a text.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def without_secrets(text: str) -> str:
    """The text, the URLs in it without their users, passwords, keys and tokens."""
    return _URL.sub(_stripped, text) if "://" in text else text


def hidden(key: str, value: str) -> str:
    """The value of a setting without secrets: none of it where the key says that it is one."""
    return HIDDEN if value and _SECRET_KEY.search(key) else without_secrets(value)


def plain(text: str) -> str:
    """The same for a terminal: a character that would act on it is escaped as ``\\\\x1b``."""
    return _UNSEEN.sub(lambda each: each[0].encode("unicode_escape").decode(), without_secrets(text))


def _stripped(url: re.Match[str]) -> str:
    return _SECRET.sub(rf"\g<1>{HIDDEN}", _USER.sub(f"://{HIDDEN}@", url[0]))
