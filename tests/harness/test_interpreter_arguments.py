"""A fault is asked only for what it has: unknown arguments and values are refused before anything happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pairproof.harness.errors import LabError, UsageError
from pairproof.harness.history import Recorder
from pairproof.harness.ports import AnyText
from pairproof.harness.trials.interpreter import MAX_ARGUMENT, MAX_TEXT_CHARS, Interpreter, check_arguments
from pairproof.harness.trials.schedule import Op


class Able:
    """The ability of the fake fault."""

    def able(self) -> None: ...


class Slow:
    """A fault with an argument of each type."""

    name = "slow"
    needs = Able
    arguments = {"link": ("ha", "client"), "ms": (200, 20), "both": (False, True)}

    def start(self, session: FakeSession, args: Any) -> None:
        session.begun.append(dict(args))

    def stop(self, session: FakeSession, handle: None) -> dict[str, int]:
        return {"held": 1}


class FakeSession(Able):
    """Records which faults began and what was armed."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self.begun: list[dict[str, Any]] = []
        self.armed: list[Callable[[], None]] = []

    def now(self) -> int:
        return 0

    def arm(self, node: str, point: str, nth: int, fire: Callable[[], None]) -> None:
        self.armed.append(fire)

    def disarm(self) -> None:
        self.armed.clear()

    def send(self) -> None: ...
    def pull(self) -> None: ...
    def advance(self) -> None: ...


def play(*ops: Op) -> FakeSession:
    session = FakeSession()
    interpreter = Interpreter(session, {"slow": Slow()})  # type: ignore[arg-type, dict-item]
    for op in ops:
        interpreter.do(op)
    return session


def slow(**args: Any) -> Op:
    return Op("fault", {"name": "slow", **args})


def arm(**args: Any) -> Op:
    return Op("arm", {"node": "master", "point": "append", "nth": 1, "name": "slow", **args})


def test_listed_values_and_any_sane_number_are_taken() -> None:
    session = play(slow(), slow(link="client", ms=0, both=True), slow(ms=MAX_ARGUMENT))
    assert session.begun == [
        {"link": "ha", "ms": 200, "both": False},
        {"link": "client", "ms": 0, "both": True},
        {"link": "ha", "ms": MAX_ARGUMENT, "both": False},
    ]


BAD = [
    ({"colour": "red"}, "fault 'slow' has no argument 'colour'; valid: link, ms, both"),
    ({"link": "moon"}, "fault 'slow': link cannot be 'moon'; valid: ha, client"),
    ({"link": 3}, "link cannot be 3; valid: ha, client"),
    ({"ms": "soon"}, "ms cannot be 'soon'; valid: 0 to 2147483648"),
    ({"ms": -1}, "ms cannot be -1; valid: 0 to"),
    ({"ms": MAX_ARGUMENT + 1}, "ms cannot be 2147483649; valid: 0 to"),
    ({"ms": True}, "ms cannot be True; valid: 0 to"),
    ({"both": 1}, "both cannot be 1; valid: False, True"),
]


@pytest.mark.parametrize(("args", "complaint"), BAD)
@pytest.mark.parametrize("made", [slow, arm])
def test_unknown_argument_or_value_is_refused_and_nothing_begins(
    made: Callable[..., Op], args: dict[str, Any], complaint: str
) -> None:
    # Where ms=1 was taken before, True must still not pass for it.
    with pytest.raises(UsageError) as found:
        play(slow(ms=1), made(**args))
    assert complaint in str(found.value) and "\n" not in str(found.value)


class Named(Slow):
    """A fault with an argument that takes any text."""

    arguments = {"image": (AnyText("other"),)}


@pytest.mark.parametrize("image", ["other", "registry:5000/a/b:1", "x" * MAX_TEXT_CHARS])
def test_an_argument_for_any_text_takes_it(image: str) -> None:
    check_arguments(Named(), {"name": "slow", "image": image})  # type: ignore[arg-type]


@pytest.mark.parametrize("image", ["", "x" * (MAX_TEXT_CHARS + 1), 3, True])
def test_an_argument_for_any_text_takes_no_empty_or_endless_one_and_nothing_else(image: Any) -> None:
    with pytest.raises(UsageError, match="; valid: other, or another text of at most 255 characters"):
        check_arguments(Named(), {"name": "slow", "image": image})  # type: ignore[arg-type]


def test_armed_fault_is_checked_when_armed_and_begins_when_fired() -> None:
    session = play(arm(ms=7))
    assert session.begun == []
    session.armed[0]()
    assert session.begun == [{"link": "ha", "ms": 7, "both": False}]


class Broken(Slow):
    """A third party's, with a bug."""

    def __init__(self, where: str) -> None:
        self.where = where

    def start(self, session: FakeSession, args: Any) -> None:
        if self.where == "start":
            raise ValueError("its own")

    def stop(self, session: FakeSession, handle: None) -> dict[str, int]:
        raise ValueError("its own")


@pytest.mark.parametrize("where", ["start", "stop"])
def test_a_fault_that_raises_is_a_failure_of_the_lab(where: str) -> None:
    interpreter = Interpreter(FakeSession(), {"slow": Broken(where)})  # type: ignore[arg-type, dict-item]
    with pytest.raises(LabError, match="fault slow failed: ValueError: its own"):
        interpreter.do(Op("fault", {"name": "slow"}))
        interpreter.do(Op("heal", {"name": "slow"}))


@pytest.mark.parametrize("do", ["fault", "heal", "arm"])
def test_unknown_fault_is_refused_whatever_is_asked_of_it(do: str) -> None:
    with pytest.raises(UsageError, match="unknown fault 'flood'; valid: slow"):
        play(Op(do, {"node": "master", "point": "append", "nth": 1, "name": "flood"}))


def test_healing_a_known_fault_that_is_not_active_does_nothing() -> None:
    session = play(Op("heal", {"name": "slow"}))
    assert session.recorder.events == []


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        (Op("join", {"group": 0, "consumer": 0}), "join: consumers can join and leave"),
        (Op("leave", {"group": 0, "consumer": 0, "lost": True}), "leave: consumers can join and leave"),
        (
            Op("topic", {"number": 0, "queues": 1, "node": "master"}),
            "topic: an administrator can change a broker's tables",
        ),
        (
            Op("group", {"group": 0, "slowly": 1, "broker": 0, "node": "master"}),
            "group: an administrator can change a broker's tables",
        ),
        (
            Op("send_to_wrong_broker", {"node": "slave", "queue": 0}),
            "send_to_wrong_broker: a producer can send to any broker",
        ),
        (Op("delayed", {"producer": 0, "queue": 0, "level": 1}), "delayed: a producer can send to any broker"),
    ],
)
def test_what_a_lab_cannot_do_is_skipped_and_the_reason_kept(op: Op, reason: str) -> None:
    interpreter = Interpreter(FakeSession(), {})  # type: ignore[arg-type]
    interpreter.do(op)
    interpreter.do(op)
    (said,), (what, _, needed) = interpreter.skipped, reason.partition(": ")
    assert said.startswith(f"{what}: not possible here: it requires that {needed} (labs that can: docker, process, sim")


def test_consumers_and_administrators_are_asked_with_all_arguments() -> None:
    asked: list[tuple[str, dict[str, Any]]] = []

    class ClusterSession(FakeSession):
        def join(self, group: int, consumer: int) -> None:
            asked.append(("join", {"group": group, "consumer": consumer}))

        def leave(self, group: int, consumer: int, lost: bool) -> None:
            asked.append(("leave", {"group": group, "consumer": consumer, "lost": lost}))

    interpreter = Interpreter(ClusterSession(), {})  # type: ignore[arg-type]
    gone = {"group": 1, "consumer": 2, "lost": False}
    interpreter.do(Op("join", {"group": 1, "consumer": 2}))
    interpreter.do(Op("leave", gone))
    assert asked == [("join", {"group": 1, "consumer": 2}), ("leave", gone)] and not interpreter.skipped


def test_a_fault_is_given_the_part_that_has_its_ability_also_when_it_ends() -> None:
    given: list[object] = []

    class Gauging(Slow):
        def start(self, session: object, args: Any) -> None:  # type: ignore[override]
            given.append(session)

        def stop(self, session: object, handle: None) -> dict[str, int]:  # type: ignore[override]
            given.append(session)
            return {}

    class Composed(FakeSession):
        def __init__(self) -> None:
            super().__init__()
            self.parts = (Idle(), Able())

    class Idle:
        """It can do nothing."""

    session = Composed()
    interpreter = Interpreter(session, {"slow": Gauging()})  # type: ignore[arg-type, dict-item]
    interpreter.do(Op("fault", {"name": "slow"}))
    interpreter.heal()
    assert given == [session.parts[1]] * 2
