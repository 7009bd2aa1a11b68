"""A process that plays trials with changed modules: of one mutant, or as the control with probes.

It receives its task as one JSON value on standard input, and answers with JSON lines on its original standard output,
one as soon as each trial has ended, so earlier answers survive any end of the process. The hook is installed before any
import of a changed module.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import traceback
from pathlib import Path
from time import process_time
from typing import Any, TextIO

from ...harness.errors import PairproofError
from . import hook

AFTER_CRASH, AFTER_CRASH_S = 40, 40
"""Further trials after a mutant's crash, and their CPU seconds: a law may be violated in them, too."""
TRIED, FAILED = "trial", "failed"


def main() -> None:
    """Perform the task from standard input."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    # Mutated code's own output must not mix with the answers.
    os.dup2(2, 1)
    task: dict[str, Any] = json.load(sys.stdin)
    if task["memory_bytes"]:
        resource.setrlimit(resource.RLIMIT_AS, (task["memory_bytes"], task["memory_bytes"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _grant(task)
    try:
        (_control if task["do"] == "control" else _mutant)(task, answers)
    except PairproofError as why:
        _answer(answers, {FAILED: str(why), "code": why.exit_code})
    except MemoryError:
        # A mutant caught it.
        raise
    except Exception as why:
        # Other exceptions of a mutant are caught at its calls.
        _answer(answers, {FAILED: f"{task['do']}: {_words(why)}", "code": PairproofError.exit_code})
    _answer(answers, {"done": True, "cpu_s": round(process_time(), 3)})
    # Threads and handlers of mutated code must not affect the end.
    os._exit(0)


def _grant(task: dict[str, Any]) -> None:
    """CPU time for the next part: the kernel ends the process when it is used up."""
    soft = min(int(process_time()) + 1 + int(task["trial_s"]), int(task["cpu_s"]))
    resource.setrlimit(resource.RLIMIT_CPU, (soft, int(task["cpu_s"]) + 2))


def _answer(to: TextIO, line: dict[str, object]) -> None:
    to.write(json.dumps(line) + "\n")


def _control(task: dict[str, Any], answers: TextIO) -> None:
    reached: set[int] = set()
    asked: dict[str, dict[int, int]] = {}
    for identity, (module, number) in enumerate(task["places"]):
        asked.setdefault(module, {})[number] = identity
    hook.install({module: hook.probes(each) for module, each in asked.items()}, {hook.PROBE: reached.add})
    from . import reaching

    for line in reaching.recorded(task["lab"], task["target"], task["seed"], task["trials"], asked, reached):
        _answer(answers, line)


def _mutant(task: dict[str, Any], answers: TextIO) -> None:
    hook.install({task["module"]: hook.mutant(task["number"])}, {})
    try:
        from .playing import Player

        play = Player(task["lab"], task["target"]).play
    except (Exception, SystemExit) as why:
        _answer(answers, {TRIED: None, "laws": {}, "crash": f"at import: {_words(why)}", "differs": True})
        return
    left, ends_s = AFTER_CRASH, 0.0
    for trial in _trials(task["file"], task["numbers"]):
        _grant(task)
        try:
            (laws, history), crash = play(trial["schedule"]), ""
        except KeyboardInterrupt:
            raise
        except BaseException as why:
            laws, history, crash = {}, None, _words(why)
        said = {"laws": laws, "crash": crash, "differs": history != trial["digest"]}
        _answer(answers, {TRIED: trial["number"], **said, "cpu_s": round(process_time(), 3)})
        if set(laws) - {task["crash_law"]}:
            return
        if laws or crash:
            ends_s = ends_s or process_time() + AFTER_CRASH_S
            left -= 1
            if left < 0 or process_time() > ends_s:
                return


def _trials(file: str, numbers: list[int]) -> list[dict[str, Any]]:
    wanted = set(numbers)
    found = {}
    with Path(file).open(encoding="utf-8") as lines:
        for at, line in enumerate(lines):
            if at in wanted:
                found[at] = json.loads(line)
    return [found[each] for each in numbers]


def _words(why: BaseException) -> str:
    frames = traceback.extract_tb(why.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(why).__name__}: {' '.join(str(why).split())[:200]}{where}"
