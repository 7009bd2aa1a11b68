"""The one judge: feed a history to laws in ``seq`` order and return each law's verdict.

The same class is used for a finished list, a live recorder and Arrow batches in Spark. A law that raises is unknown and
receives no further events; other laws are not affected. A history with an effect before its cause is refused
(:mod:`harness.judging.precedence`).
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from types import MethodType
from typing import NamedTuple

from .. import registry
from ..event_types.machine import Mark
from ..history import STOPPED, Event, kinds
from ..ports import Target
from ..renamed import given
from .known import Known
from .law import EVERY, Circumstance, EventFilter, Law
from .precedence import Precedence
from .verdict import Judgement, Verdict

Subject = tuple[str, str | None, str | None]
SETTINGS = frozenset({"config", "lab"})
"""Event types that every law receives, even before the first event that it awaits."""
MAX_SUBJECTS = 10_000
"""The limit of cached handler lists; a normal trial has some hundreds."""


class Guarded:
    """A law's handler that receives an event unless the law abstains from it."""

    __slots__ = ("__self__", "_handler", "_unless")

    def __init__(self, handler: MethodType, unless: tuple[Circumstance, ...]) -> None:
        self.__self__: Law = handler.__self__  # type: ignore[assignment]
        self._handler, self._unless = handler, unless

    def __call__(self, event: Event) -> None:
        if not self.__self__.abstains(event, *self._unless):
            self._handler(event)


Handler = MethodType | Guarded
"""A handler of a law, a model or the precedence check for one event type."""


Receiver = tuple[int, str, EventFilter]
HEARS, AWAITS, GONE = range(3)
"""What a law or model receives: all its events, only settings, or no more events."""


class Receivers(NamedTuple):
    receivers: tuple[Receiver, ...]
    awakens: tuple[int, ...]
    """Laws that await such an event."""


class Plan(NamedTuple):
    seeing: tuple[type[Law], ...]
    blind: tuple[type[Law], ...]
    models: tuple[type[Known], ...]
    asks: tuple[int, ...]
    """By judgeable law: the index of its model."""
    receivers: Mapping[str, tuple[Receiver, ...]]
    """By event type: for each handler its owner's index (laws, then models), its method, and its filter."""
    found: dict[Subject, Receivers]
    """Those that receive events of a subject, kept for all trials."""

    def receivers_of(self, subject: Subject) -> Receivers:
        found = self.found.get(subject)
        if found is None:
            found = Receivers(tuple(self._includes(*subject)), tuple(self._awakens(*subject)))
            if len(self.found) < MAX_SUBJECTS:
                self.found[subject] = found
        return found

    def _includes(self, kind: str, node: str | None, f: str | None) -> Iterator[Receiver]:
        for index, name, filter_ in self.receivers.get(kind, ()):
            law = self.seeing[index] if index < len(self.seeing) else None
            if filter_.includes(f, node) and (law is None or node not in law.ignored_nodes):
                yield index, name, filter_

    def _awakens(self, kind: str, node: str | None, f: str | None) -> Iterator[int]:
        for index, law in enumerate(self.seeing):
            if kind in law.awaits and law.awaits[kind].includes(f, node):
                yield index


def all_laws() -> tuple[type[Law], ...]:
    """Every registered law, by id."""
    return tuple(map(_law, registry.names("laws")))


def laws_for(target: Target) -> tuple[type[Law], ...]:
    """Every registered law about the target's system, or about any, by id."""
    about = ("", str(getattr(target, "system", "")))
    return tuple(law for law in all_laws() if law.system in about)


def _law(name: str) -> type[Law]:
    found = registry.find("laws", name)
    assert isinstance(found, type) and issubclass(found, Law), f"law {name!r} is not a Law"
    return found


def laws(ids: Iterable[str]) -> tuple[type[Law], ...]:
    """Laws by id; UsageError for an unknown one."""
    return tuple(_law(given("laws", each)) for each in ids)


@cache
def _handled(of: type) -> tuple[tuple[str, str, EventFilter], ...]:
    names = [name for name in dir(of) if name.startswith("on_")]
    found = tuple((name[3:], name, getattr(getattr(of, name), "event_filter", EVERY)) for name in names)
    for kind, _, _ in found:
        # Raises an error, with the remedy, for an unregistered one.
        kinds()[kind]
    return found


@cache
def _handled_kinds(of: type) -> frozenset[str]:
    return frozenset(kind for kind, _, _ in _handled(of))


@lru_cache(maxsize=64)
def _plan(laws: tuple[type[Law], ...], observes: frozenset[str]) -> Plan:
    seeing = tuple(law for law in laws if law.needs <= observes)
    blind = tuple(law for law in laws if not law.needs <= observes)
    models = _models(seeing)
    asks = tuple(next(at for at, each in enumerate(models) if issubclass(each, law.known_type)) for law in seeing)
    receivers: dict[str, list[Receiver]] = {}
    # Models come after laws: laws judge an event by the state before it.
    owners: tuple[type, ...] = (*seeing, *models)
    for index, of in enumerate(owners):
        for kind, name, filter_ in _handled(of):
            receivers.setdefault(kind, []).append((index, name, filter_))
    return Plan(seeing, blind, models, asks, {kind: tuple(each) for kind, each in receivers.items()}, {})


def _models(laws: tuple[type[Law], ...]) -> tuple[type[Known], ...]:
    """The models of these laws, without those that another one extends: it answers for them, too."""
    asked = dict.fromkeys(law.known_type for law in laws)
    return tuple(one for one in asked if not any(issubclass(each, one) for each in asked if each is not one))


class Judge:
    """Judges one trial. Feed it every event once, in order, then :meth:`finish`.

    A law receives no events of nodes in ``Law.ignored_nodes``; models receive all events.
    """

    def __init__(self, laws: Iterable[type[Law]], observes: frozenset[str] | None = None) -> None:
        observes = frozenset(kinds()) if observes is None else observes
        plan = _plan(tuple(laws), observes)
        self._blind = plan.blind
        self.models = [each(observes) for each in plan.models]
        self._laws = [law(self.models[asked]) for law, asked in zip(plan.seeing, plan.asks, strict=True)]
        self._owners: list[Law | Known] = [*self._laws, *self.models]
        self._precedence = Precedence()
        self._receivers = plan.receivers_of
        self._receives = [AWAITS if law.awaits else HEARS for law in self._laws] + [HEARS] * len(self.models)
        """By owner."""
        self._last: Event | None = None
        self._handlers: dict[Subject, Sequence[Handler]] = {}
        self._has_started = False

    def feed(self, event: Event) -> None:
        subject = event[2], event[3], event[9]
        self._deliver(self._handlers.get(subject) or self._bind(subject), event)
        self._last = event

    def feed_all(self, events: Iterable[Event]) -> None:
        """:meth:`feed` for many events, faster."""
        get = self._handlers.get
        event = self._last
        for event in events:
            subject = event[2], event[3], event[9]
            handlers = get(subject)
            if handlers is None:
                handlers = self._bind(subject)
            try:
                for handler in handlers:
                    handler(event)
            except Exception as why:
                self._deliver(self._survive(handlers, handler, event, why), event)
        self._last = event

    def finish(self) -> list[Judgement]:
        """The verdicts: judgeable laws in the given order, then those that are not observable."""
        found: list[Judgement] = []
        # A stopped trial is judged so far: laws must not wait for further events.
        is_stopped = isinstance(self._last, Mark) and self._last.f == STOPPED
        for law, receives in zip(self._laws, self._receives, strict=False):
            has_end = type(law).end is not Law.end
            if has_end and self._last is not None and not is_stopped and receives == HEARS:
                try:
                    law.end(self._last)
                except Exception as why:
                    self._retire(law, f"law crashed: {_crashed(why)}, at the end")
            found.append(_judgement(law))
        found.extend(_nothing(law.id, Verdict.NOT_OBSERVABLE) for law in self._blind)
        return found

    def _bind(self, subject: Subject) -> Sequence[Handler]:
        kind, receives, owners = subject[0], self._receives, self._owners
        receivers, awakens = self._receivers(subject)
        for index in awakens:
            if receives[index] == AWAITS:
                receives[index] = HEARS
                of: type = type(owners[index])
                handled = _handled_kinds(of)
                for old in [each for each in self._handlers if each[0] in handled]:
                    del self._handlers[old]
        found: list[Handler] = []
        most = AWAITS if kind in SETTINGS else HEARS
        for index, name, filter_ in receivers:
            if receives[index] <= most:
                handler = getattr(owners[index], name)
                found.append(Guarded(handler, filter_.unless) if filter_.unless else handler)
        if (check := self._precedence.handler(kind)) is not None:
            found.insert(0, check)
        if kind == "start" and not self._has_started:
            # Before the first start every node is configured, so a law can decide whether it applies.
            found.append(MethodType(Judge._excuse, self))
        elif len(self._handlers) < MAX_SUBJECTS:
            self._handlers[subject] = found
        return found

    def _excuse(self, event: Event) -> None:
        """Laws that do not apply to this trial receive no further events, which saves a fifth of the time."""
        self._has_started = True
        for index, law in enumerate(self._laws):
            try:
                law.applicable = law.applies()
            except Exception as why:
                self._retire(law, _doubt(event, why))
            if not law.applicable:
                self._receives[index] = GONE
        self._handlers.clear()

    def _forget(self, owner: Law | Known) -> None:
        self._receives[self._owners.index(owner)] = GONE
        self._handlers.clear()

    def _deliver(self, handlers: Sequence[Handler], event: Event) -> None:
        # Each crash removes a law, so this ends.
        while handlers:
            try:
                for handler in handlers:
                    handler(event)
                return
            except Exception as why:
                handlers = self._survive(handlers, handler, event, why)

    def _survive(
        self, handlers: Sequence[Handler], handler: Handler, event: Event, why: Exception
    ) -> Sequence[Handler]:
        """A handler raised: its law is unknown. Returns the handlers that have not received this event yet."""
        owner = handler.__self__
        if owner is self._precedence:
            raise why
        left = handlers[handlers.index(handler) + 1 :]
        doubt = _doubt(event, why)
        if isinstance(owner, Law):
            self._retire(owner, doubt)
            return left
        # Laws come before models, so none of the remaining handlers is a law of this model.
        for law in self._laws:
            if law.known is owner:
                self._retire(law, doubt.replace("law", "model", 1))
        assert isinstance(owner, Known)
        self._forget(owner)
        return left

    def _retire(self, law: Law, doubt: str) -> None:
        law.doubt = law.doubt or doubt
        self._forget(law)


def _doubt(event: Event, why: Exception) -> str:
    return f"law crashed: {_crashed(why)}, at event {event.seq} ({event.kind})"


def _crashed(why: Exception) -> str:
    at = traceback.extract_tb(why.__traceback__)[-1]
    return f"{type(why).__name__}: {why} ({Path(at.filename).name}:{at.lineno})"


@cache
def _nothing(law: str, verdict: Verdict) -> Judgement:
    """The judgement of a law that had nothing to judge, cached for all trials."""
    return Judgement(law, verdict, 0, 0)


def _judgement(law: Law) -> Judgement:
    if not (law.judged or law.broken or law.doubt or law.notes):
        return _nothing(law.id, Verdict.VACUOUS if law.applicable else Verdict.NOT_APPLICABLE)
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
    return Judgement(law.id, verdict, law.judged, law.broken, law.violations, law.doubt, law.notes, doubted=law.doubted)


def judge(events: Iterable[Event], laws: Iterable[type[Law]], observes: frozenset[str]) -> list[Judgement]:
    """Judge a complete trial. Events may be plain rows: laws get them as their event types' classes."""
    one, known = Judge(tuple(laws), observes), kinds()
    one.feed_all(known[event.kind]._make(event) if type(event) is Event else event for event in events)
    return one.finish()
