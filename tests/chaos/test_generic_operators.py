"""Operators of generic mutants: what each makes of a small source, and what none of them touches."""

from __future__ import annotations

import ast

import pytest

from pairproof.chaos.generic import hook
from pairproof.chaos.generic.operators import sites


def mutants(source: str) -> set[tuple[str, str]]:
    """Each mutant of a source: its operator, and the whole source then."""
    found = sites(ast.parse(source))
    return {(each.operator, ast.unparse(hook.mutant(at)(ast.parse(source)))) for at, each in enumerate(found)}


@pytest.mark.parametrize(
    ("operator", "before", "after"),
    [
        ("border", "x < y", ["x <= y"]),
        ("border", "x >= y", ["x > y"]),
        ("compare", "x < y", ["x >= y"]),
        ("compare", "x == y", ["x != y"]),
        ("compare", "x not in y", ["x in y"]),
        ("compare", "x is None", ["x is not None"]),
        ("compare", "x < y <= z", ["x >= y <= z", "x < y > z"]),
        ("condition", "if x:\n    y = z", ["if not x:\n    y = z"]),
        ("condition", "while not x:\n    y = z", ["while x:\n    y = z"]),
        ("condition", "x = y if z else w", ["x = y if not z else w"]),
        ("condition", "x = [y for y in z if y]", ["x = [y for y in z if not y]"]),
        ("condition", "if x < y:\n    z = w", []),
        ("and-or", "x and y and z", ["x or y or z"]),
        ("and-or", "x or y", ["x and y"]),
        ("arithmetic", "x + y", ["x - y"]),
        ("arithmetic", "x * y", ["x // y"]),
        ("arithmetic", "x << y", ["x >> y"]),
        ("arithmetic", "x & y", ["x | y"]),
        ("arithmetic", "'a' + x + y", []),
        ("arithmetic", "[x] * y", []),
        ("number", "x = 0", ["x = 1"]),
        ("number", "x = 41", ["x = 42"]),
        ("number", "x = True", []),
        ("true-false", "x = True", ["x = False"]),
        ("return", "def f():\n    return x", ["def f():\n    return None"]),
        ("return", "def f() -> None:\n    return x", []),
        ("return", "def f():\n    return False", []),
        ("call", "x(y)", ["pass"]),
        ("call", "x = y()", []),
        ("break-continue", "while x:\n    break", ["while x:\n    continue"]),
        ("break-continue", "while x:\n    continue", ["while x:\n    break"]),
        ("min-max", "min(x, y)", ["max(x, y)"]),
        ("update", "x += y", ["pass"]),
        ("branch", "if x:\n    y = z", ["if x:\n    pass"]),
        ("branch", "if x:\n    raise y", ["if x:\n    pass"]),
        ("branch", "if x:\n    y()", []),
        ("branch", "if x:\n    y()\nelse:\n    z = w", ["if x:\n    y()"]),
        ("slice", "x[y:]", ["x[y + 1:]", "x[y - 1:]"]),
        ("slice", "x[1:]", []),
    ],
)
def test_an_operator_makes_its_mistake_and_no_other(operator: str, before: str, after: list[str]) -> None:
    assert {text for name, text in mutants(before) if name == operator} == set(after)


@pytest.mark.parametrize(
    "source",
    [
        "if TYPE_CHECKING:\n    x = 1 + y",
        "if __name__ == '__main__':\n    main()",
        "'a docstring'",
        "x: Literal[1] | None",
        "def f(x: Literal[1]) -> Literal[2]:\n    ...",
        "__all__ = ['a', *b[:1]]",
        "Answer = int | None",
        "raise Error(f'{x + 1} of them')",
        "why = CodecError(f'{x + 1} of them')",
        "@lru_cache(maxsize=16)\ndef f(): pass",
        "@dataclass(slots=True)\nclass A: pass",
        "both = zip(a, b, strict=True)",
        "raise Error",
        "logger.warning('%d', x + 1)",
        "class A:\n    def __repr__(self):\n        return 'a' if self.x else 'b'",
        "match x:\n    case 1:\n        pass",
    ],
)
def test_what_is_no_behaviour_has_no_places(source: str) -> None:
    assert mutants(source) == set()


def test_an_assertion_s_message_is_left_alone_and_its_condition_is_not() -> None:
    assert mutants("assert x, y[1]") == set() and len(mutants("assert x == y, z[1]")) == 1


def test_places_know_their_function_their_line_and_whether_an_import_executes_them() -> None:
    source = "X = 1\nclass A:\n    y = 2\n    def f(self, z=3):\n        return lambda: z + 4\n"
    found = {each.before(): each for each in sites(ast.parse(source))}
    assert {text: (found[text].function, found[text].always) for text in "1234"} == {
        "1": ("", True), "2": ("A", True), "3": ("A", True), "4": ("A.f", False),
    }  # fmt: skip
    assert found["4"].line == 5 and found["4"].after() == "5"


def test_constants_and_defaults_know_the_functions_that_read_them() -> None:
    source = "X, Y = 1, 2\nclass A:\n    z = 3\n    def f(self, w=4):\n        'docs'\n        return X + self.z\n"
    source += "def g():\n    return 5\nV = 6\n"
    found = {each.before(): each for each in sites(ast.parse(source))}
    read = {text: [ast.unparse(each) for each in found[text].users] for text in "123456"}
    f = ["return X + self.z"]
    assert read == {"1": f, "2": f, "3": f, "4": f, "5": [], "6": []}


def test_probes_tell_who_reads_a_constant() -> None:
    source = "X = 1\ndef f():\n    return X\ndef g():\n    return None\n"
    tree = hook.probes({0: 7})(ast.parse(source))
    reached: set[int] = set()
    probed = {hook.PROBE: reached.add}
    exec(compile(tree, "probed", "exec"), probed)
    assert reached == {7}
    for name, told in (("g", set()), ("f", {7})):
        reached.clear()
        probed[name]()  # type: ignore[call-arg]
        assert reached == told


def test_probes_tell_what_is_reached_and_change_nothing_else() -> None:
    source = "def f(x):\n    if x and x[0] < 5:\n        return min(x)\n    return 7\n"
    found = sites(ast.parse(source))
    tree = hook.probes({number: number for number in range(len(found))})(ast.parse(source))
    reached: set[int] = set()
    given = {hook.PROBE: reached.add}
    exec(compile(tree, "probed", "exec"), given)
    probed = given["f"]
    told = {}
    for argument, answer in (([], 7), ([9], 7), ([1], 1)):
        reached.clear()
        assert probed(argument) == answer  # type: ignore[operator]
        told[len(argument) and argument[0]] = {found[each].before() for each in reached}
    assert "x[0] < 5" not in told[0] and {"x[0] < 5", "7"} <= told[9] and "min" not in told[9] and "min" in told[1]
