"""Judges a capture of real brokers: the laws over its history, and the reference slave over its streams.

Two checks besides the laws: the master's streams consist of frames (``stream-framing``); and the reference slave, fed
with the bytes that each real slave received, split in several ways, writes byte for byte the real slave's commit log
(``reference-slave``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..harness.errors import UsageError
from ..harness.judging import deviations
from ..harness.judging.judge import judge
from ..harness.judging.law import Law
from ..harness.judging.verdict import Judgement, Standing, Verdict, exit_code
from ..harness.rocketmq import topology
from ..harness.rocketmq.system import SYSTEM
from ..reference.errors import BrokerError
from .observers.capture_folder import NOTHING, Connection
from .observers.ha_capture import CapturedHistory, read_capture
from .observers.ha_tap import ReportTap
from .observers.store_folder import open_log
from .observers.store_reader import LogReading, read_log
from .replay_stream import Replayed, feed_reference_slave, segmentations


class Check(NamedTuple):
    """A check besides the laws. ``why``: the failures, empty if it holds."""

    id: str
    verdict: Verdict
    judged: int
    why: tuple[str, ...]


class JudgedCapture(NamedTuple):
    history: CapturedHistory
    laws: list[Judgement]
    """Includes known deviations of the captured version; none if the version is unknown."""
    checks: list[Check]
    does: str = deviations.FAIL
    """Effect of a known deviation: a capture is of the user's own brokers, as is a run with brought files."""

    @property
    def deviations(self) -> list[dict[str, Any]]:
        seen = deviations.Seen()
        seen.add(self.laws)
        return seen.rows()

    @property
    def known_fails(self) -> bool:
        return deviations.fails({"known_deviations": self.does, "deviations": self.deviations})

    @property
    def exit_code(self) -> int:
        """0 holds, 1 violated or known-deviation, 3 unknown."""
        verdicts = [*(each.verdict for each in self.laws), *(each.verdict for each in self.checks)]
        return exit_code(map(Standing, verdicts), known_fails=self.known_fails)


def judge_capture(
    folder: Path, laws: Iterable[type[Law]], checks: bool = True, brought: Mapping[str, Path] = NOTHING,
    does: str = deviations.FAIL,
) -> JudgedCapture:  # fmt: skip
    """Judge a capture folder by ``laws``, and make the two checks if ``checks``. UsageError if it is not a capture.

    ``brought``: as for :func:`pairproof.chaos.observers.capture_folder.open_capture`.
    """
    history = read_capture(folder, brought)
    found = [_doubted(each, history.lines.unended) for each in judge(history.events, laws, history.observes)]
    made = [_framing(history), _reference_slave(folder, history)] if checks else []
    version = history.version
    releases = dict.fromkeys((topology.MASTER, topology.SLAVES[0]), version.name) if version.is_known else {}
    known = deviations.running(SYSTEM.name, releases)
    return JudgedCapture(history, deviations.sorted_out(found, history.events, known), made, does)


def _doubted(judgement: Judgement, unended: list[str]) -> Judgement:
    """A fault excuses disturbed events until it ends. If its end is unknown, no law is known to hold."""
    if judgement.verdict is not Verdict.HOLDS or not unended:
        return judgement
    return judgement._replace(verdict=Verdict.UNKNOWN, doubt=unended[0])


def _check(name: str, judged: int, why: list[str]) -> Check:
    verdict = Verdict.VIOLATED if why else Verdict.HOLDS if judged else Verdict.VACUOUS
    return Check(name, verdict, judged, tuple(why))


def _framing(history: CapturedHistory) -> Check:
    return _check("stream-framing", len(history.connections), history.broken)


def _reference_slave(folder: Path, history: CapturedHistory) -> Check:
    judged, why = 0, []
    for node in sorted({each.node for each in history.connections if (folder / "store" / each.node).is_dir()}):
        heard = [each for each in history.connections if each.node == node]
        if _first_report(heard[0]):
            # Its log is older than the capture, so the streams do not contain all of it.
            continue
        streams = [each.stream("m2s") for each in heard]
        cuts = {number: history.cuts[each.name] for number, each in enumerate(heard) if each.name in history.cuts}
        settings = history.configs[node]
        real = read_log(open_log(folder / "store" / node))
        reported = max(_reported(each) for each in heard[max(cuts, default=0) :])
        pieces = [segmentations(each) for each in streams]
        for name in pieces[0] if pieces else ():
            judged += 1
            try:
                replayed = feed_reference_slave((each[name] for each in pieces), settings, cuts)
            except BrokerError as wrong:
                raise UsageError(f"{folder}: configuration of the {node}: {wrong}") from None
            wrong_at = _difference(replayed, real, history.reach.get(node, 0), reported)
            if wrong_at is not None:
                why.append(f"{node}, {name}: {wrong_at}")
    return _check("reference-slave", judged, why)


def _first_report(connection: Connection) -> int:
    return next(iter(ReportTap().feed(connection.stream("s2m"))), 0)


def _reported(connection: Connection) -> int:
    return max(ReportTap().feed(connection.stream("s2m")), default=0)


def _difference(replayed: Replayed, real: LogReading, sent: int, reported: int) -> str | None:
    """The first difference between the reference slave's log and the real one's; None if they are equal.

    The real slave may have ended before it read the last bytes. It holds at least the bytes that it reported. Files are
    filled up with zeros.
    """
    if replayed.start != real.start:
        return f"the log starts at {replayed.start}, the real slave's at {real.start}"
    stored = real.read(replayed.start, replayed.end).rstrip(b"\0")
    if not replayed.data.startswith(stored):
        at = next(n for n, (a, b) in enumerate(zip(stored, replayed.data, strict=False)) if a != b)
        return f"the log differs from the real slave's at {replayed.start + at}"
    if replayed.end != sent or replayed.closed:
        return f"the log ends at {replayed.end}, although frames reach {sent}"
    if len(stored) < len(replayed.data[: max(0, reported - replayed.start)].rstrip(b"\0")):
        return f"the log ends at {replayed.start + len(stored)}, although the real slave had reported {reported}"
    return None
