"""Each law has a file of tests, at its module's path. Tests of shared code are beside the groups."""

from pathlib import Path

from pairproof.harness.judging.judge import all_laws
from pairproof.harness.judging.law import Law

HERE = Path(__file__).parent


def path_of(law: type[Law]) -> Path:
    *group, name = law.__module__.partition(".laws.")[2].split(".")
    return HERE.joinpath(*group, f"test_{name}.py")


def test_each_law_has_its_file_of_tests_and_each_file_in_a_group_its_law() -> None:
    files = {path_of(law): law for law in all_laws()}
    assert [law.id for path, law in files.items() if not path.exists() or law.__name__ not in path.read_text()] == []
    assert set(HERE.glob("*/test_*.py")) - set(files) == set()
