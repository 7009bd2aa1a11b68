"""``pairproof`` is a package as any other: for git, pip, linters, type checkers, zip imports, and for strangers."""

from __future__ import annotations

import ast
import importlib
import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from source_copy import copied, distribution

import pairproof
from pairproof.harness import registry
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.corpus import corpus
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.trial import Trial

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "pairproof"
ROGUE_SLAVE = ROOT / "tests" / "stranger"
ROOMS = ("chaos", "harness", "reference", "reports")
LIMIT_S = 300


def run(*command: str | Path, cwd: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(each) for each in command],
        cwd=cwd,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def output(*command: str | Path, cwd: Path | None = None, **environ: str) -> str:
    done = run(*command, cwd=cwd, **environ)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# What is in it.


def test_every_room_is_linked_and_git_knows_the_links() -> None:
    assert {path.name: str(path.readlink()) for path in PACKAGE.iterdir() if path.is_symlink()} == {
        room: f"../{room}" for room in ROOMS
    }
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this copy of the project is no git checkout")
    rows = [line.split() for line in output("git", "ls-files", "--stage", "pairproof", cwd=ROOT).splitlines()]
    modes = {name: mode for mode, _, _, name in rows}
    assert {name for name, mode in modes.items() if mode == "120000"} == {f"pairproof/{room}" for room in ROOMS}


def promised() -> dict[str, tuple[str, str]]:
    """What type checkers are told: by public name, its module and its name there."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    (told,) = [each for each in tree.body if isinstance(each, ast.If)]
    imports = [each for each in told.body if isinstance(each, ast.ImportFrom)]
    return {name.name: (each.module or "", name.name) for each in imports for name in each.names}


def test_public_names_are_for_a_program_what_they_are_for_a_type_checker() -> None:
    assert sorted([*promised(), "__version__"]) == sorted(pairproof.__all__)
    for name, (module, attribute) in promised().items():
        home = importlib.import_module(module)
        there = getattr(home, attribute, None) or importlib.import_module(f"{module}.{attribute}")
        assert getattr(pairproof, name) is there
    assert set(pairproof.__all__) <= set(dir(pairproof))


def test_a_name_that_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'Lwa'; it has Args, .*Law, "):
        _ = pairproof.Lwa  # type: ignore[attr-defined]
    with pytest.raises(ImportError):
        importlib.import_module("pairproof.judging")


def test_importing_it_loads_nothing_else() -> None:
    known = "import sys, typing, __future__; before = set(sys.modules); "
    code = known + "import pairproof; print(*sorted(set(sys.modules) - before))"
    assert output(sys.executable, "-c", code, cwd=ROOT).split() == ["pairproof"]


def test_there_is_one_version() -> None:
    assert metadata.version("pairproof") == pairproof.__version__, "the version changed: run make again"
    assert output(sys.executable, "-m", "pairproof", "--version") == f"pairproof {pairproof.__version__}\n"


def test_it_runs_as_a_module_which_is_what_printed_commands_then_say(tmp_path: Path) -> None:
    assert output(sys.executable, "-m", "pairproof", "--help").startswith("Usage: pairproof")
    started = [sys.executable, "-m", "pairproof", "check", "--target", "reference+eager_push", "--first"]
    done = run(*started, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"replay: {sys.executable} -m pairproof replay " in done.stdout


def test_without_docstrings_it_ends_with_the_remedy(tmp_path: Path) -> None:
    done = run(sys.executable, "-OO", "-m", "pairproof", "laws", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith("pairproof: laws state their promises in docstrings: run Py")


# Who reads it.


def test_a_linter_sees_each_file_once() -> None:
    ruff = shutil.which("ruff", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if ruff is None:
        pytest.skip("there is no ruff here; make test installs it")
    seen = [Path(line).resolve() for line in output(ruff, "check", "--show-files", cwd=ROOT).splitlines()]
    assert len(seen) == len(set(seen)) > 400
    assert {PACKAGE / "__init__.py", ROOT / "harness" / "history.py"} <= set(seen)


def test_the_rules_of_imports_see_every_module() -> None:
    grimp = pytest.importorskip("grimp")
    written = {
        ".".join(("pairproof", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
    }
    graph = grimp.build_graph("pairproof", cache_dir=None)
    assert graph.modules == {*written, "pairproof", "pairproof.__main__", "pairproof.rocketmq"}
    assert graph.find_shortest_chain("pairproof.chaos", "pairproof.harness", as_packages=True)


# What is installed.


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of all that the wheel is made from."""
    import setuptools

    if int(setuptools.__version__.split(".")[0]) < 77:
        pytest.skip(f"setuptools {setuptools.__version__} cannot build it; make installs the locked one")
    return copied(tmp_path_factory.mktemp("package") / "source")


def built(source: Path, into: Path) -> Path:
    """A wheel, made with the setuptools that is here, without network."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    output(*command, "--wheel-dir", into, source)
    return next(into.glob("*.whl"))


@pytest.fixture(scope="module")
def wheel(source: Path) -> Path:
    return built(source, source.parent)


def written() -> set[str]:
    """Every file that somebody wrote for the package, as the wheel should name it."""
    inside = [(f"pairproof/{room}", ROOT / room) for room in ROOMS]
    found = {f"{name}/{path.relative_to(at)}" for name, at in inside for path in at.rglob("*") if path.is_file()}
    own = {f"pairproof/{path.name}" for path in PACKAGE.iterdir() if path.is_file()}
    return {each for each in found | own if "__pycache__" not in each}


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package_once_and_nothing_else(wheel: Path) -> None:
    held = [name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name]
    assert len(held) == len(set(held))
    assert written() - set(held) == set(), "a folder without __init__.py, or data that no package-data pattern names"
    assert set(held) - written() == set()


@pytest.mark.slow
def test_a_source_distribution_makes_the_same_wheel(source: Path, wheel: Path, tmp_path: Path) -> None:
    again = zipfile.ZipFile(built(distribution(source, tmp_path), tmp_path))
    first = zipfile.ZipFile(wheel)
    assert sorted(again.namelist()) == sorted(first.namelist())
    assert [n for n in first.namelist() if not n.endswith("/RECORD") and first.read(n) != again.read(n)] == []


@pytest.mark.slow
def test_the_wheel_carries_licence_notice_command_and_entry_points(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    names = [name.partition(".dist-info/")[2] for name in archive.namelist() if ".dist-info/" in name]
    assert {"licenses/LICENSE", "licenses/NOTICE", "entry_points.txt", "METADATA"} <= set(names)
    entries = archive.read(next(name for name in archive.namelist() if name.endswith("entry_points.txt"))).decode()
    assert "pairproof = pairproof.harness.commands.entry:main" in entries
    laws = metadata.entry_points(group="pairproof.laws")
    assert all(f"\n{each.name} = " in entries for each in laws if each.dist and each.dist.name == "pairproof")
    assert f"-{pairproof.__version__}-" in wheel.name


# As an executor of a Spark cluster has it: the wheel on the path, and nothing installed, no dependencies either.
ON_AN_EXECUTOR = """
import json, sys
sys.path.insert(0, sys.argv[1])
import pairproof
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.judging.judge import all_laws
from pairproof.harness.rocketmq.corpus import corpus
assert pairproof.__file__.startswith(sys.argv[1]), pairproof.__file__
lab, target = resolve.lab("sim"), resolve.target("reference")
played = run_trial(lab, target, corpus()[0])
kept = [pairproof.Event(*row) for row in json.load(sys.stdin)]
judged = pairproof.judge(kept, all_laws(), lab.observes(target))
loaded = {name.partition(".")[0] for name in sys.modules}
json.dump([sorted(loaded - sys.stdlib_module_names), played.events, judged], sys.stdout)
"""


@pytest.mark.slow
def test_a_bare_interpreter_plays_and_judges_with_the_wheel_on_its_path(wheel: Path, tmp_path: Path) -> None:
    lab, target = resolve.lab("sim"), resolve.target("reference+repeats_frame")
    broken = next(filter(violations, (run_trial(lab, target, each) for each in corpus())))
    done = subprocess.run(
        [sys.executable, "-S", "-I", "-c", ON_AN_EXECUTOR, str(wheel)],
        input=json.dumps(broken.events),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded, played, judged = json.loads(done.stdout)
    assert loaded == ["__main__", "pairproof"]
    assert played == as_json(run_trial(lab, resolve.target("reference"), corpus()[0]).events)
    assert judged == as_json(broken.judgements)


def violations(trial: Trial) -> bool:
    return any(each.verdict is Verdict.VIOLATED for each in trial.judgements)


def as_json(rows: object) -> object:
    return json.loads(json.dumps(rows))


@pytest.mark.slow
def test_commands_and_data_work_from_the_wheel_itself(wheel: Path, tmp_path: Path) -> None:
    def told(*arguments: str) -> str:
        return output(sys.executable, *arguments, cwd=tmp_path, PYTHONPATH=str(wheel))

    assert told("-c", "import pairproof; print(pairproof.__file__)").startswith(f"{wheel}/")
    assert told("-m", "pairproof", "--help") == output(sys.executable, "-m", "pairproof", "--help")
    assert "slave-lag" in told("-m", "pairproof", "chaos", "list")
    assert "rocketmq-4.9.7" in told("-m", "pairproof", "labs")
    made = "from types import SimpleNamespace as S; from pairproof.reports import pages; "
    made += "report = S(laws=[], runs=[], trials=[]); "
    made += "pages._environment(report).get_template('index.html'); print('made')"
    assert told("-c", made)


# A stranger's plug-in, from a repository of its own.


@pytest.fixture(scope="module")
def home(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel and the plug-in; what pairproof depends on is that of the tests."""
    folder = tmp_path_factory.mktemp("stranger")
    venv.create(folder / "venv", symlinks=True)
    python = folder / "venv" / "bin" / "python"
    shutil.copytree(
        ROGUE_SLAVE,
        folder / "repository",
        ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build", ".mypy_cache"),
    )
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index"]
    output(*command, "--no-build-isolation", wheel)
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    # Of a folder that a .pth file names no further .pth files are read: a pairproof that is installed there stays away.
    (site / "dependencies.pth").write_text("".join(f"{each}\n" for each in sys.path if each.endswith("-packages")))
    output(*command, "--no-build-isolation", folder / "repository")
    return python


def checked(python: Path, folder: Path) -> list[str]:
    """What ``mypy --strict`` says of a stranger's repository, where pairproof is installed as any other package."""
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "--no-error-summary"]
    done = run(*mypy, cwd=folder)
    assert done.returncode in (0, 1) and not done.stderr, done.stderr
    return done.stdout.splitlines()


WRONG = """
from pairproof import Event, Law, Lwa

class Wrong(Law):
    needs = "append"

    def on_append(self, event: Event) -> None:
        self.violate(event, event.queue_ofset)
"""


@pytest.mark.slow
def test_a_strangers_plug_in_passes_mypy_strict_and_a_wrong_one_does_not(home: Path) -> None:
    repository = home.parents[2] / "repository"
    assert checked(home, repository) == []
    (repository / "stranger" / "wrong.py").write_text(WRONG)
    said = checked(home, repository)
    assert len(said) == 3, said
    for code in ("attr-defined", "assignment"):
        assert any(line.startswith("stranger/wrong.py") and line.endswith(f"[{code}]") for line in said), said


PLAYS = """
from pairproof import Verdict, conformance
from pairproof.harness import registry
assert "hiccup" in registry.names("faults")
summary = conformance.run("reference", "sim", trials=20, laws=["answer-was-asked"])
assert not summary.findings
from pairproof.harness.rocketmq import swarm
assert any(op.do == "nap" for number in range(100) for op in swarm.schedule("s", number).ops)
from stranger import tests
own = [each for name, each in vars(tests).items() if name.startswith("test_")]
assert len(own) == 4
for each in own:
    each()
"""


@pytest.mark.slow
def test_a_strangers_plug_in_works_where_pairproof_is_installed(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other tests see no plug-ins.
    monkeypatch.delenv(registry.PLUGINS)
    said = json.loads(output(home, "-m", "pairproof", "laws", "--json", cwd=tmp_path))
    assert [each["promise"] for each in said if each["id"] == "answer-was-asked"] == [
        "A client is answered only what it asked."
    ]
    output(home, "-c", PLAYS, cwd=tmp_path)
    listed = json.loads(output(home, "-m", "pairproof", "chaos", "list", "--json", cwd=tmp_path))
    assert {"napping", "slave-lag"} <= {each["name"] for each in listed}
    said = json.loads(output(home, "-m", "pairproof", "chaos", "run", "napping", "--json", cwd=tmp_path))
    assert [each["verdict"] for each in said["scenarios"]] == ["holds"], said
    assert output(home.parent / "pairproof", "--version").split()[1] == pairproof.__version__
