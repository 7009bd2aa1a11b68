"""The report as JUnit XML: one suite per run, one case per law and per scenario.

A violated law is a failure with its text, program and replay line; a law violated by the same cause is skipped and
listed in the failure's output, so that one cause is one failure. An unknown law is an error, and so are a law that
judged nothing although the run demands it, a run in which nothing was judged or whose searches missed a coverage
minimum, and an incomplete run: nothing is violated, yet the exit code is not 0. Other vacuous laws are skipped, like
those that are not observable or not applicable. A scenario is a failure if a law is violated or an expectation not met,
an error if the lab failed or it is unknown, skipped if the lab skipped a part of it; always with the reasons.

Seconds are those of known cases and scenarios; the case for the run's completion has the rest. Laws have none: all laws
judge a trial together.

A run of few trials has a skipped case that says so. A law with known deviations only passes, with a note; each known
deviation is a case that passes.

One case checks that the recorded histories are whole and rejudged as before: a failure if only rejudging shows a
violation, an error if another verdict differs, or a history is missing or damaged, skipped if none was rejudged.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from ..harness.judging import deviations
from ..harness.judging.verdict import Verdict
from ..harness.runs.schema import Row
from . import examined, known_cases, rejudging, scenarios
from .model import Report

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

SKIPPED = {
    Verdict.VACUOUS: "vacuous: no trial gave this law anything to judge",
    Verdict.NOT_OBSERVABLE: "not observable: this lab cannot record what the law needs",
    Verdict.NOT_APPLICABLE: "not applicable to what was tested",
}


def write(report: Report, file: Path) -> None:
    """Write the report into ``file``."""
    xml = JUnitXml("pairproof")
    for run in report.runs:
        xml.add_testsuite(_suite(report, run))
    xml.update_statistics()  # type: ignore[no-untyped-call]
    xml.write(str(file), pretty=True)


def _suite(report: Report, run: Row) -> TestSuite:
    suite = TestSuite(_clean(f"{run['target']} in {run['lab']}, run {run['run']}"))
    if run.get("began"):
        suite.timestamp = _clean(str(run["began"]))
    for name in ("run", "target", "lab", "profile", "seed", "state", "known_deviations"):
        suite.add_property(name, _clean(str(run.get(name) or "")))
    led = _led(report, run)
    for row in report.by_run:
        if row["run"] == run["run"]:
            suite.add_testcase(_case(report, row, led))
    if not any(row["run"] == run["run"] and row["exercised"] for row in report.by_run):
        case = TestCase("something was judged", _classname(run))
        case.result = [Error("no trial gave any law anything to judge, so nothing is known", "unknown")]
        suite.add_testcase(case)
    if examined.is_amber(run):
        case = TestCase("enough trials were played", _classname(run))
        case.result = [Skipped(_clean(run["untried"] or "few trials"))]
        suite.add_testcase(case)
    for each in known_cases.of(run):
        # Runs of older versions do not record a case's duration.
        seconds = float(each.get("seconds") or 0)
        case = TestCase(f"case {_clean(str(each['case']))}", _classname(run), seconds)
        text, bad = _clean(known_cases.described(each)), known_cases.verdict(each)
        if bad == scenarios.VIOLATED:
            case.result = [Failure(text, "violated")]
        elif bad != scenarios.HOLDS:
            case.result = [Error(text, "unknown")]
        suite.add_testcase(case)
    if run.get("minimums"):
        case = TestCase("the searches met the profile's coverage minimums", _classname(run))
        if run.get("minimums_missed"):
            case.result = [Error(_clean("; ".join(run["minimums_missed"])), "unknown")]
        suite.add_testcase(case)
    for row in run.get("deviations") or ():
        case = TestCase(_clean(f"known deviation: {row['id']}"), _classname(run))
        case.system_out = _clean(deviations.describe(row))
        if deviations.fails(run) and row in deviations.met(run):
            case.result = [Failure(_clean(row["means"]), "known-deviation")]
        suite.add_testcase(case)
    case = TestCase("the run came to its end", _classname(run))
    if run["state"] != rejudging.COMPLETE:
        reason = f"{run['state']}{': ' if run.get('reason') else ''}{run.get('reason') or ''}"
        case.result = [Error(_clean(f"{reason}; only its recorded trials are judged"), "unknown")]
    suite.add_testcase(case)
    for row in report.histories:
        if row["run"] == run["run"]:
            suite.add_testcase(_rejudged(report, row))
    for row in report.scenarios:
        if row["run"] == run["run"]:
            suite.add_testcase(_scenario(row))
    # The time of the trials belongs to no law.
    case.time = round(max(0.0, float(run.get("seconds") or 0) - sum(each.time or 0 for each in suite)), 3)
    suite.update_statistics()  # type: ignore[no-untyped-call]
    return suite


def _led(report: Report, run: Row) -> dict[str, str]:
    """Laws of a run that are violated only together with another law, each with the first such law."""
    own = {row["number"]: row["law"] for row in report.findings if row["run"] == run["run"]}
    leading, led = set(), dict[str, str]()
    for cause in report.causes:
        laws = [own[number] for number in cause["findings"] if number in own]
        if laws:
            first = cause["laws"][0] if cause["laws"][0] in laws else laws[0]
            leading.add(first)
            led |= {law: led.get(law, first) for law in laws}
    return {law: first for law, first in led.items() if law not in leading}


def _case(report: Report, row: Row, led: Mapping[str, str]) -> TestCase:
    case = TestCase(_clean(row["law"]), _classname(row))
    verdict = Verdict(row["verdict"])
    if verdict is Verdict.VIOLATED and row["law"] in led:
        case.result = [Skipped(_clean(f"violated from the same cause as {led[row['law']]}, which fails"))]
    elif verdict is Verdict.VIOLATED:
        case.result = [_failure(report, row)]
        others = [
            f"violated from the same cause: {each['law']}: {each['text']}"
            for each in report.findings
            if each["run"] == row["run"] and led.get(each["law"]) == row["law"]
        ]
        if others:
            case.system_out = _clean("\n".join(dict.fromkeys(others)))
    elif verdict is Verdict.UNKNOWN:
        case.result = [Error(_clean(f"unknown: {_doubt(report, row)}"), "unknown")]
    elif verdict is Verdict.DEVIATES:
        case.system_out = f"known deviations only, in {row['known_deviation']} of {row['trials']} trials"
    elif row["forbidden"]:
        case.result = [Error(_clean(f"vacuous, and the run demands otherwise: {row['remark']}"), "vacuous")]
    elif verdict in SKIPPED:
        case.result = [Skipped(SKIPPED[verdict])]
    return case


def _rejudged(report: Report, row: Row) -> TestCase:
    case = TestCase("recorded histories are judged again as they were", _classname(row))
    verdict = rejudging.verdict(row)
    if verdict == scenarios.HOLDS:
        if not row["judged"]:
            case.result = [Skipped("no kept history was judged again")]
        return case
    again = report.rejudged or {"differences": []}
    lines = [
        f"trial {each['trial']}: {each['law']} was {each['stored']}, and is {each['again']} now"
        for each in again["differences"]
        if each["run"] == row["run"]
    ]
    lines += [f"{each['part']}: {each['problem']}" for each in report.problems if each["run"] == row["run"]]
    kind = Failure if verdict == scenarios.VIOLATED else Error
    text = f"{row['different']:,} verdicts differ, {row['odd']:,} histories are missing or damaged"
    case.result = [kind(text, verdict)]
    case.result[0].text = _clean("\n".join(lines))
    return case


def _scenario(row: Row) -> TestCase:
    case = TestCase(_clean(row["name"]), f"{_classname(row)}.scenarios", float(row["seconds"] or 0))
    verdict = row["verdict"]
    if verdict != scenarios.HOLDS:
        kind = {scenarios.SKIPPED: Skipped, scenarios.FAILED: Error, scenarios.UNKNOWN: Error}.get(verdict, Failure)
        result = kind(_clean(f"{verdict}: {(row['reasons'] or ['no reason given'])[0]}"), verdict)
        result.text = _clean("\n".join(row["reasons"]))
        case.result = [result]
    if row["not_observable"]:
        case.system_out = _clean(f"not observable here: {', '.join(row['not_observable'])}")
    return case


def _failure(report: Report, row: Row) -> Failure:
    found = [each for each in report.findings if each["run"] == row["run"] and each["law"] == row["law"]]
    first = found[0]["text"] if found else f"violated in {row['violated']} of {row['trials']} trials"
    failure = Failure(_clean(first), "violated")
    lines = [f"violated in {row['violated']} of {row['trials']} trials"]
    for each in found:
        lines += ["", each["text"], "program:", *(f"  {line}" for line in each["program"])]
        lines += [f"replay: {each['replay']}"] if each["replay"] else []
    failure.text = _clean("\n".join(lines))
    return failure


def _doubt(report: Report, row: Row) -> str:
    found = [each["text"] for each in report.doubts if each["run"] == row["run"] and each["law"] == row["law"]]
    return (found[0] if found else None) or f"in {row['unknown']} of {row['trials']} trials"


def _classname(row: Row) -> str:
    return _clean(f"{row['target']}.{row['lab']}")


def _clean(text: str) -> str:
    # XML 1.0 cannot represent most control characters.
    return _NOT_XML.sub("\ufffd", text)
