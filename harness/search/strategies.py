"""Strategies of the Hypothesis machine: settings, faults with their arguments, and operations' arguments."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from hypothesis import strategies as st

from ..ports import Fault
from ..system import System
from ..trials.operation import Operation
from ..trials.schedule import Args, Scalar


def drawn_settings(system: System) -> st.SearchStrategy[Args]:
    """Settings of one of the system's types of trial."""
    kinds = [st.fixed_dictionaries(sampled(each)).map(system.fit) for each in system.settings]
    # Not one_of, which counts equal strategies once.
    return st.sampled_from(kinds).flatmap(lambda chosen: chosen)


def sampled(values: Mapping[str, Sequence[Scalar]]) -> dict[str, st.SearchStrategy[Scalar]]:
    """One of its values for each name."""
    return {name: st.sampled_from(each) for name, each in values.items()}


def fault_args(faults: Iterable[Fault], of: Callable[[Iterable[Scalar]], Sequence[Scalar]]) -> st.SearchStrategy[Args]:
    """A fault's name and its arguments, from the values that ``of`` accepts."""
    kinds: list[st.SearchStrategy[Args]] = [
        st.fixed_dictionaries(
            {"name": st.just(each.name), **sampled({name: of(values) for name, values in each.arguments.items()})}
        )
        for each in faults
    ]
    return st.one_of(kinds)


def arguments(operation: Operation) -> st.SearchStrategy[Args]:
    """A value for each of its arguments."""
    return st.fixed_dictionaries(sampled({name: each.drawn for name, each in operation.arguments.items()}))
