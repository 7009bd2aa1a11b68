"""Write up a finding from executions of its program, in the order of a maintainer's questions.

The promise and the violation; the exact versions and settings; the program; the answers to clients; the wire and the
logs at that moment; the final positions of messages; the number of reproductions; known deviations; how to reproduce
it. Unknown facts are marked so. The system words the events of its nodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..history import MS, Event
from ..judging import judge
from ..judging.law import Law, Violation
from ..judging.verdict import Judgement, Verdict
from ..ports import GoesByHand, Lab, Target
from ..runs.writer import finding_json
from ..system import System
from ..texts.wording import counted
from ..trials import resolve
from ..trials.schedule import Args, Op
from ..trials.trial import Finding, Trial
from . import clients, given, known, node_logs, wire
from .blocks import (
    Block,
    Drawing,
    Folded,
    Section,
    Steps,
    Table,
    Text,
    Verbatim,
    WriteUp,
    private,
    without_secrets,
)

MAX_VIOLATIONS = 3
MAX_STORY = 14
PROGRAM = "finding.json"
"""The file beside the write-up with the program."""
BEFORE = (
    "Before these steps the pair starts on empty stores and replicates one message. After them every active fault "
    "ends, probes are sent, the pair gets time to converge, and all stores are read."
)


class Executed(NamedTuple):
    """The content of a write-up: a finding, and its executions, one of which is shown."""

    finding: Finding
    target: Target
    lab: Lab
    trials: Sequence[Trial]
    shown: Trial
    failure: str = ""
    """The lab's error, if it failed before all executions were made."""

    @property
    def system(self) -> System:
        return resolve.system_of(self.target)

    @property
    def settings(self) -> Args:
        return self.target.settings(self.finding.schedule.settings)

    def violation(self) -> Violation | None:
        """The first violation of the finding's law in the shown execution."""
        found = [one for each in self.broken() if each.law == self.finding.law for one in each.violations]
        return found[0] if found else None

    def broken(self) -> list[Judgement]:
        """The violated laws of the shown execution."""
        return self.shown.violated

    def times(self, law: str) -> int:
        return sum(trial.violates(law) for trial in self.trials)


def write_up(done: Executed) -> WriteUp:
    """The write-up, without any data of this machine."""
    at = _moment(done)
    sections = (
        Section("Tested", given.versions(done.target, done.lab, done.settings)),
        Section("Configuration", given.configurations(done.target, done.system, done.shown, done.settings)),
        Section("Steps", list(_program(done))),
        Section("Answers to the producer", clients.answers(done.shown.events, _concerned(done))),
        Section("On the wire", list(_wire(done, at))),
        Section("Logs", list(_logs(done, at))),
        Section("Messages at the end", list(_whereabouts(done))),
        Section("How often", list(_repeats(done))),
        Section("Known causes", list(known.of(done.target, done.finding.law, done.shown))),
        Section("Reproduce", list(_again(done))),
    )
    return without_secrets(WriteUp(_title(done), _claim(done), sections))


def _title(done: Executed) -> str:
    found = done.violation()
    return found.text if found is not None else f"Not reproduced: {done.finding.text}"


def _claim(done: Executed) -> str:
    law = _law(done.finding.law)
    name, seen = given.product(done.target, done.settings), done.times(done.finding.law)
    many = f"{seen} of {counted(len(done.trials), 'execution')}"
    found = done.violation()
    if found is None:
        return (
            f"In {many} of the steps below {name} broke the promise “{law.promise}” (law {law.id}), so the finding "
            f"does not reproduce; when it was recorded, it said: {done.finding.text}"
        )
    return f"{name} breaks the promise “{law.promise}” (law {law.id}) in {many} of the steps below: {found.text}."


def _moment(done: Executed) -> Event | None:
    """The event to show: a concerned write's answer if there is one, since its promise was made then."""
    events, found = done.shown.events, done.violation()
    if found is None:
        return None
    concerned = _concerned(done)
    answered = next((each.answered for each in clients.writes(events) if each.asked.message in concerned[:1]), None)
    return answered or next((each for each in events if each.seq == found.seq), None)


def _concerned(done: Executed) -> list[str]:
    """The messages of the law's violations, the first one first."""
    events = done.shown.events
    found = [one for each in done.broken() if each.law == done.finding.law for one in each.violations]
    named = (done.system.message_of(events, each.seq, each.text) or each.message for each in found)
    return list(dict.fromkeys(each for each in named if each is not None))


def _program(done: Executed) -> Iterator[Block]:
    schedule = done.finding.schedule
    steps = [_words(op) for op in schedule.ops]
    yield Steps(steps) if steps else Text("No step is needed: it is enough to start the pair.")
    yield Text(BEFORE)
    if done.shown.skipped:
        yield Text(f"Not executed, since this lab cannot do it: {'; '.join(done.shown.skipped)}.")


def _words(op: Op) -> str:
    operations = resolve.operations()
    return operations[op.do].words(op.args) if op.do in operations else str(op)


def _wire(done: Executed, at: Event | None) -> Iterator[Block]:
    if at is None:
        yield Text("Nothing is shown, since no law was violated: there is no moment to show.")
        return
    events = done.shown.events
    yield Text(f"Within a second of {at.t / MS:,.3f} ms{_clock(done, at)}. Repeated lines are counted, long lists cut.")
    if (table := wire.conversation(events, done.system, at.seq)) is not None:
        yield table
    for message in _concerned(done)[:1]:
        story = list(done.system.steps_of(events, message))
        if story:
            cut = story if len(story) <= MAX_STORY else [*story[: MAX_STORY - 1], story[-1]]
            yield Text(f"Message {message}:")
            yield Table(("ms", "what happened"), [(f"{t / MS:,.3f}", text) for t, text in cut])
    found = done.violation()
    yield Drawing(
        events, None if found is None else found.seq, f"Timeline of an execution that violates {done.finding.law}"
    )


def _began_ms(done: Executed) -> int | None:
    """The wall clock when the trial began; None in virtual time."""
    first = next((each for each in done.shown.events if each.kind == "lab"), None)
    found = json.loads(first.detail or "{}").get("beganMs") if first is not None else None
    return found if isinstance(found, int) else None


def _clock(done: Executed, at: Event) -> str:
    began = _began_ms(done)
    return "" if began is None else f" ({node_logs.clock(began + at.t // MS)})"


def _logs(done: Executed, at: Event | None) -> Iterator[Block]:
    if not done.shown.logs:
        yield Text("There are none: in this lab nodes do not write logs.")
        return
    if at is None:
        yield Text("Nothing is shown, since no law was violated: there is no moment to show.")
        return
    yield Text("Lines within the same second.")
    for node, text in done.shown.logs.items():
        found = node_logs.around(text, _began_ms(done), at.t // MS)
        yield Text(f"{done.system.the(node).capitalize()}. {found.remark}".strip())
        if found.lines:
            yield Verbatim(found.lines)


def _whereabouts(done: Executed) -> Iterator[Block]:
    events = done.shown.events
    found = done.system.whereabouts(events)
    stores = {each.node for each in events if each.kind == "config" and each.node is not None}
    nodes = [node for node in dict.fromkeys((*done.system.nodes, *found)) if node in found or node in stores]
    written = (str(each.asked.message) for each in clients.writes(events))
    messages = _concerned(done) or list(written)
    yield from clients.whereabouts(found, nodes, messages[: clients.MAX_ROWS])


def _repeats(done: Executed) -> Iterator[Block]:
    laws = dict.fromkeys((done.finding.law, *(each.law for trial in done.trials for each in trial.violated)))
    told = "These executions were made for this page, in turn, each on empty stores."
    yield Text(told if not done.lab.deterministic else f"{told} In this lab every execution is the same.")
    rows = [(law, f"{done.times(law)} of {len(done.trials)}", _otherwise(done, law)) for law in laws]
    yield Table(("law", "violated in", "otherwise"), rows)
    if done.failure:
        yield Text(f"Then the lab failed, so there are fewer executions than were asked for: {done.failure}")
    shown = [(each.law, one.text) for each in done.broken() for one in each.violations[:MAX_VIOLATIONS]]
    if shown:
        yield Folded("Every violation of the execution that is shown", Table(("law", "what was seen"), shown))


def _otherwise(done: Executed, law: str) -> str:
    """The law's verdicts in executions that do not violate it."""
    judged = [each for trial in done.trials for each in trial.judgements if each.law == law]
    others = [each.doubt or str(each.verdict) for each in judged if each.verdict is not Verdict.VIOLATED]
    return "; ".join(f"{others.count(each)} × {each.replace('-', ' ')}" for each in dict.fromkeys(others))


def _again(done: Executed) -> Iterator[Block]:
    finding = done.finding
    repeat = "" if done.lab.deterministic else f" --repeat {max(1, len(done.trials))}"
    yield Text(f"With pairproof installed, and the program in {PROGRAM} beside this page:")
    yield Verbatim([f"pairproof replay {PROGRAM} --target {finding.target} --lab {finding.lab}{repeat}"])
    if files := by_hand(done):
        yield Text(f"Without pairproof: {', '.join(files)} beside this page. Steps that need a lab are comments there.")


def by_hand(done: Executed) -> Mapping[str, str]:
    """Files, by name, that play the steps without pairproof; none if the target has no such files."""
    if not isinstance(done.target, GoesByHand):
        return {}
    title, found = private(done.finding.text), done.shown.configurations
    return done.target.by_hand(title, done.finding.schedule, found, _words)


def program(finding: Finding) -> dict[str, object]:
    """The finding as the JSON object that ``replay`` reads, without its origin."""
    return {**finding_json(finding, Path(PROGRAM)), "replay": f"pairproof replay {PROGRAM}"}


def _law(name: str) -> type[Law]:
    return judge.laws([name])[0]
