"""The one judge: feeds a history to laws in ``seq`` order and says what each law makes of it.

The same class serves a finished list, a live recorder and Arrow batches in Spark, so laws are written once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from pairproof.harness import registry
from pairproof.harness.history import KINDS, Event
from pairproof.harness.laws.base import Law
from pairproof.harness.laws.ledger import Ledger
from pairproof.harness.verdict import Judgement, Verdict

Handler = Callable[[Event], None]


def all_laws() -> tuple[type[Law], ...]:
    """Every registered law, by id."""
    return laws(registry.names("laws"))


@cache
def _law(name: str) -> type[Law]:
    found = registry.find("laws", name)
    assert isinstance(found, type) and issubclass(found, Law), f"law {name!r} is not a Law"
    return found


def laws(ids: Iterable[str]) -> tuple[type[Law], ...]:
    """Laws by id; UsageError for an unknown one."""
    return tuple(_law(each) for each in ids)


@cache
def _handled(law: type[Law]) -> tuple[tuple[str, str], ...]:
    found = tuple((name[3:], name) for name in dir(law) if name.startswith("on_"))
    unknown = [kind for kind, _ in found if kind not in KINDS]
    assert not unknown, f"{law.__name__} handles unknown kinds {unknown}"
    return found


class Judge:
    """Judges one trial. Feed it every event once, in order, then :meth:`finish`."""

    def __init__(self, laws: Iterable[type[Law]], observes: frozenset[str] = frozenset(KINDS)) -> None:
        self.ledger = Ledger()
        self._blind = [law for law in laws if not law.needs <= observes]
        self._laws = [law(self.ledger) for law in laws if law.needs <= observes]
        self._last: Event | None = None
        # The ledger hears an event after the laws did: they judge it against what was before.
        after = self.ledger.handlers()
        handlers: dict[str, list[Handler]] = {}
        for law in self._laws:
            for kind, name in _handled(type(law)):
                handlers.setdefault(kind, []).append(getattr(law, name))
        for kind, handler in after.items():
            handlers.setdefault(kind, []).append(handler)
        self._handlers = handlers

    def feed(self, event: Event) -> None:
        """Judge one event."""
        handlers = self._handlers.get(event[2])
        if handlers is not None:
            for handler in handlers:
                handler(event)
        self._last = event

    def feed_all(self, events: Iterable[Event]) -> None:
        """Judge many events: the same as :meth:`feed` for each, faster."""
        get = self._handlers.get
        event = self._last
        for event in events:
            handlers = get(event[2])
            if handlers is not None:
                for handler in handlers:
                    handler(event)
        self._last = event

    def finish(self) -> list[Judgement]:
        """The verdicts, in the laws' order."""
        found: list[Judgement] = []
        for law in self._laws:
            if self._last is not None:
                law.end(self._last)
            found.append(_judgement(law))
        found.extend(Judgement(law.id, Verdict.NOT_OBSERVABLE, 0, 0) for law in self._blind)
        return found


def _judgement(law: Law) -> Judgement:
    if law.violations:
        verdict = Verdict.VIOLATED
    elif law.doubt is not None:
        verdict = Verdict.UNKNOWN
    elif not law.applicable:
        verdict = Verdict.NOT_APPLICABLE
    elif law.judged:
        verdict = Verdict.HOLDS
    else:
        verdict = Verdict.VACUOUS
    return Judgement(law.id, verdict, law.judged, law.broken, tuple(law.violations), law.doubt, law.notes)


def judge(events: Iterable[Event], laws: Iterable[type[Law]], observes: frozenset[str]) -> list[Judgement]:
    """Judge a whole trial."""
    one = Judge(tuple(laws), observes)
    one.feed_all(events)
    return one.finish()
