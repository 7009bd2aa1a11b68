"""One measurement: draws the sample, has the control find the trials that reach it, and plays each mutant's trials.

Most mutants that any trial notices are noticed within the first trials that reach them, and survivors take nearly all
of the time. So there are two stages: every mutant plays a few reaching trials, and the survivors of a tenth of the
sample play many more. :func:`pairproof.chaos.generic.score.expected` estimates from both.

Everything is stored in a folder as it comes: a measurement with the same question and code is resumed. ``plan.json``
has the question, ``trials.jsonl`` the control's schedules, ``reaching.json`` the sites that each of them reaches,
``alarms.jsonl`` the control's trials that violate a law, ``results.jsonl`` each mutant's result in the first stage,
``deeper.jsonl`` the results of the second.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import ceil
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pairproof

from ...harness.errors import PairproofError, UsageError
from ...harness.ports import Progress
from ...harness.runs import atomic
from . import equivalents, running, sampling
from .equivalents import Equivalent
from .reaching import chosen
from .running import CONTROL, Answer, Children, Control, Limits, Trials, in_parallel
from .sampling import Place
from .score import EQUIVALENT, NOT_REACHED, SURVIVED, Result

FORMAT = 3
CONTROL_TIMES, CONTROL_LEAST = 10, 2_000
"""Trials of the control for each trial of a mutant, and at least, beyond the corpus: 2,000 take a minute of CPU time,
and reach sites that one trial in some hundreds does.
"""
DEEP_ONE_IN = 10
PLAN, TRIALS, REACHING, RESULTS = "plan.json", "trials.jsonl", "reaching.json", "results.jsonl"
DEEPER = "deeper.jsonl"
ALARMS = "alarms.jsonl"


class Question(NamedTuple):
    target: str
    lab: str
    packages: tuple[str, ...]
    seed: str
    sample: int
    trials: int
    """Reaching trials of each mutant."""
    deep: int = 0
    """Reaching trials of the second stage's mutants; 0: there is no second stage."""
    limits: Limits = Limits()

    @property
    def control(self) -> int:
        """Trials of the control beyond the corpus."""
        most = max(self.trials, self.deep)
        return max(CONTROL_LEAST, CONTROL_TIMES * most) if self.deep else CONTROL_TIMES * most


class Measured(NamedTuple):
    rows: list[tuple[Place, Result]]
    """The sample in the first stage."""
    deeper: dict[str, Result]
    """By key, the final result of each mutant of the second stage's tenth."""
    places: dict[str, int]
    """By package, the number of sites in the population."""
    control: Control
    stale: list[Equivalent]


def measure(question: Question, folder: Path, entries: Sequence[Equivalent], jobs: int, progress: Progress) -> Measured:
    """Measure, or resume; UsageError for packages without sites, or for a folder of another measurement."""
    found = sampling.sources(question.packages)
    places, counts = sampling.sample(found, question.sample, question.seed)
    _claim(folder, _plan(question, found))
    listed = {place.key: Result(place.key, EQUIVALENT) for place in places if any(each.fits(place) for each in entries)}
    results, deeper, control = judged(question, folder, places, jobs, progress, listed)
    rows = [(place, results[place.key]) for place in places]
    return Measured(rows, deeper, counts, control, equivalents.stale(entries, found))


def judged(
    question: Question, folder: Path, places: Sequence[Place], jobs: int, progress: Progress,
    known: Mapping[str, Result],
) -> tuple[dict[str, Result], dict[str, Result], Control]:  # fmt: skip
    """The result of each site's mutant by its key, those of the second stage, and the control's; ``known`` ones are not
    played.
    """
    children = Children()
    try:
        trials = _control(question, folder, places, children, progress)
        identities = {place.key: number for number, place in enumerate(places)}

        def play(file: str, wanted: Sequence[Place], chosen: Mapping[int, list[int]], doing: str) -> dict[str, Result]:
            def one(place: Place) -> Result:
                identity = identities[place.key]
                task = running.Task(place.module, place.number, trials.reaching[identity], chosen[identity])
                return running.mutated(children, _about(question), task, trials, question.limits)

            results = _results(folder / file)
            left = [each for each in wanted if each.key not in results]
            with (folder / file).open("a", encoding="utf-8") as out:
                for result in in_parallel(children, left, one, jobs):
                    results[result.key] = result
                    out.write(json.dumps(result._asdict()) + "\n")
                    out.flush()
                    progress(len(results), len(wanted), doing)
            return results

        played = [each for each in places if each.key not in known and trials.chosen[identities[each.key]]]
        results = {each.key: Result(each.key, NOT_REACHED) for each in places}
        results |= {**play(RESULTS, played, trials.chosen, "mutants"), **known}
        tenth = [each for each in places if identities[each.key] in trials.deeper]
        survivors = [
            each for each in tenth
            if results[each.key].verdict == SURVIVED and trials.deeper[identities[each.key]]
        ]  # fmt: skip
        later = play(DEEPER, survivors, trials.deeper, "mutants in more trials")
    finally:
        children.kill()
    deeper = {each.key: _both(results[each.key], later.get(each.key)) for each in tenth}
    return results, deeper, trials.control


def _both(first: Result, later: Result | None) -> Result:
    if later is None:
        return first
    return later._replace(
        trials=first.trials + later.trials,
        differing=first.differing + later.differing,
        cpu_s=round(first.cpu_s + later.cpu_s, 3),
    )


def _plan(question: Question, found: Sequence[sampling.Source]) -> dict[str, Any]:
    own = [each for each in sampling.sources(["pairproof"]) if not each.module.startswith("pairproof.reports")]
    # Limits depend on the machine: results under other limits are as good.
    asked = json.loads(json.dumps(question._replace(limits=Limits())._asdict()))
    return {"format": FORMAT, "version": pairproof.__version__, **asked, "code": sampling.digest([*found, *own])}


def _claim(folder: Path, plan: dict[str, Any]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        before = json.loads((folder / PLAN).read_text(encoding="utf-8"))
    except FileNotFoundError:
        if any(folder.iterdir()):
            raise UsageError(f"--out {folder} holds something else; name a new folder") from None
        atomic.put_json(folder, PLAN, plan, "--out")
        return
    except (OSError, ValueError) as why:
        raise UsageError(f"--out {folder} cannot be used ({why}); name another folder") from None
    if before != plan:
        differs = sorted(key for key in plan if not isinstance(before, dict) or before.get(key) != plan[key])
        raise UsageError(
            f"--out {folder} holds a measurement with other {', '.join(differs)}; name another, or use the same"
        )


def _control(
    question: Question, folder: Path, places: Sequence[Place], children: Children, progress: Progress
) -> Trials:
    """The sites that the unmutated target reaches; from the folder, if it has them."""
    if not (folder / REACHING).exists():
        progress(0, None, "control: which trials reach the sample")
        wanted = [(place.module, place.number) for place in places]
        task = {
            "do": "control",
            "places": wanted,
            "trials": question.control,
            "seed": question.seed,
            **_about(question),
        }
        answer = children.ask(task, CONTROL)
        if answer.ended:
            raise PairproofError(f"the control of unmutated code {answer.ended}; does the target start in lab sim?")
        _keep(folder, question, places, answer)
    kept = json.loads((folder / REACHING).read_text(encoding="utf-8"))
    return Trials(
        folder / TRIALS, kept["origins"], dict(enumerate(kept["reaching"])), dict(enumerate(kept["chosen"])),
        {int(identity): numbers for identity, numbers in kept["deeper"].items()},
        Control(len(kept["origins"]), kept["cpu_s"], kept["alarms"]),
    )  # fmt: skip


def _keep(folder: Path, question: Question, places: Sequence[Place], answer: Answer) -> None:
    played = [each for each in answer.lines if "number" in each]
    ever = next((set(each["ever"]) for each in answer.lines if "ever" in each), set())
    quiet = [each for each in played if not each["alarms"]]
    reached: dict[int, list[tuple[int, str, int]]] = {number: [] for number in range(len(places))}
    for each in quiet:
        for identity in each["reached"]:
            reached[identity].append(_brief(each))
    others: dict[int, list[tuple[int, str, int]]] = {}
    for identity, place in enumerate(places):
        if identity in ever and (place.always or not reached[identity]):
            # Trials in which a user of the value was reached first. Import-time code may show in any.
            others[identity] = [_brief(each) for each in quiet if identity not in each["reached"]]

    def pick(identity: int, most: int) -> list[int]:
        picked = chosen(reached[identity], most)
        return picked + chosen(others.get(identity, ()), most - len(picked))

    picked = [pick(identity, question.trials) for identity in range(len(places))]
    deep = Random(f"{question.seed}/deeper").sample(range(len(places)), ceil(len(places) / DEEP_ONE_IN))
    deeper = {
        each: [number for number in pick(each, question.deep) if number not in set(picked[each])]
        for each in (sorted(deep) if question.deep else ())
    }
    stored = ({name: each[name] for name in ("number", "digest", "schedule")} for each in played)
    schedules = "".join(json.dumps(each) + "\n" for each in stored)
    atomic.put_text(folder, TRIALS, schedules, "--out")
    if len(quiet) < len(played):
        loud = [{name: each[name] for name in ("number", "alarms", "schedule")} for each in played if each["alarms"]]
        atomic.put_text(folder, ALARMS, "".join(json.dumps(each) + "\n" for each in loud), "--out")
    document = {
        "origins": [each["origin"] for each in played],
        "reaching": [len(reached[each]) + len(others.get(each, ())) for each in range(len(places))],
        "chosen": picked,
        "deeper": deeper,
        "cpu_s": answer.cpu_s,
        "alarms": dict(Counter(law for each in played for law in each["alarms"])),
    }
    atomic.put_text(folder, REACHING, json.dumps(document), "--out")


def _brief(line: dict[str, Any]) -> tuple[int, str, int]:
    return line["number"], line["origin"], line["events"]


def _about(question: Question) -> dict[str, str]:
    return {"lab": question.lab, "target": question.target}


def _results(path: Path) -> dict[str, Result]:
    found = {}
    with suppress(FileNotFoundError):
        whole, _, cut = path.read_text(encoding="utf-8").rpartition("\n")
        if cut:
            # The end of the process cut the last line: its mutant is played again.
            atomic.write_text(path, whole + "\n" if whole else "", "--out")
        for line in whole.splitlines():
            read = json.loads(line)
            found[read["key"]] = Result(**{**read, "also": tuple(read["also"])})
    return found
