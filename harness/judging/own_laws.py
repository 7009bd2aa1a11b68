"""Checks of laws that a user's test brings as classes, before they judge anything."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import AbstractContextManager

from .. import registry
from ..errors import UsageError, meant
from ..history import kinds
from ..renamed import current
from .law import Law

NEEDED = ("id", "promise", "source", "needs")
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""Ids are parts of file names."""


def checked(laws: Iterable[object]) -> dict[str, type[Law]]:
    """The classes by id. UsageError for an object that is not a law, or an incomplete law."""
    own: dict[str, type[Law]] = {}
    for each in laws:
        if isinstance(each, str):
            continue
        if not (isinstance(each, type) and issubclass(each, Law)):
            raise UsageError(f"{each!r} is not a law; name one, or derive a class from pairproof.Law")
        _check(each)
        if own.setdefault(each.id, each) is not each:
            raise UsageError(f"two laws are called {each.id!r}; give each an id")
    return own


def added(own: dict[str, type[Law]]) -> AbstractContextManager[None]:
    """Register these within the ``with`` block. UsageError for an id of another law."""
    known = registry.names("laws")
    return registry.added(
        "laws", {id_: law for id_, law in own.items() if id_ not in known or registry.find("laws", id_) is not law}
    )


def _check(law: type[Law]) -> None:
    name = law.__name__
    if missing := [each for each in NEEDED if not hasattr(law, each)]:
        raise UsageError(f"the law {name} has no {' and no '.join(missing)}")
    if not isinstance(law.id, str) or not ID.fullmatch(law.id):
        raise UsageError(f"the law {name} is called {law.id!r}; an id has letters, digits, '.', '_' and '-' only")
    if isinstance(law.needs, str) or not isinstance(law.needs, (set, frozenset)):
        raise UsageError(f'needs of the law {name} must be a set, such as frozenset({{"ok"}}), not {law.needs!r}')
    known = kinds()
    for kind in sorted(law.needs):
        _check_kind(kind, f"the law {name} needs {kind!r}", known)
    for handler in dir(law):
        if handler.startswith("on_"):
            _check_kind(handler[3:], f"the law {name} has a method {handler}", known)
    try:
        made = law(law.known_type(frozenset(known)))
    except Exception as why:
        raise UsageError(f"the law {name} cannot begin: {type(why).__name__}: {why}") from why
    if not hasattr(made, "notes"):
        raise UsageError(f"the law {name} has its own __init__; move that code to begin()")


def _check_kind(kind: str, what: str, known: Iterable[str]) -> None:
    if kind not in known:
        now = current("event_types", kind)
        hint = meant(kind, known) if now == kind else f": it is called {now} now"
        raise UsageError(f"{what}, which is not an event type{hint}")
