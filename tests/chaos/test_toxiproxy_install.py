"""Where toxiproxy-server is looked for, what is not taken for it, and how it is built."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from toxiproxies import binary

from pairproof.chaos.tools import TOOLS_VARIABLE, place
from pairproof.chaos.toxiproxy import install
from pairproof.chaos.toxiproxy.install import PROGRAM, TOOL, VERSION
from pairproof.harness.commands import labs
from pairproof.harness.errors import LabError

SAYS = f"#!/bin/sh\necho {PROGRAM} version {VERSION}\n"


@pytest.fixture(scope="module")
def real() -> Path:
    """The real one, from the places where it really is."""
    return binary()


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, a user's cache and a PATH, all empty; no variables."""
    for name in ("project/deep/er", "cache", "bin"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "project" / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path / "project" / "deep" / "er")
    monkeypatch.delenv("PAIRPROOF_TOXIPROXY", raising=False)
    monkeypatch.delenv("PAIRPROOF_TOOLS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    which = shutil.which

    def only_here(name: str, **_: object) -> str | None:
        return which(name, path=str(tmp_path / "bin"))

    monkeypatch.setattr(shutil, "which", only_here)
    return tmp_path


def program(path: Path, text: str = SAYS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def installed(text: str = SAYS) -> Path:
    """In the folder for tools, by this user."""
    return place(PROGRAM, lambda unfinished: program(unfinished / "made", text))


# Finding


def test_the_real_one_is_found_and_runs(real: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIRPROOF_TOXIPROXY", str(real))
    assert TOOL.find() == TOOL.usable() == TOOL.install() == real


def test_the_nearest_place_comes_first(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [
        program(folders / "bin" / PROGRAM),
        program(folders / "cache" / "pairproof" / "tools" / PROGRAM),
        installed(),
        program(folders / "tools" / PROGRAM),
        program(folders / "mine"),
    ]
    found = [TOOL.find()]
    monkeypatch.setenv("PAIRPROOF_TOOLS", str(folders / "tools"))
    found.append(TOOL.find())
    monkeypatch.setenv("PAIRPROOF_TOXIPROXY", str(folders / "mine"))
    found.append(TOOL.find())
    assert found == places[2:]
    monkeypatch.delenv("PAIRPROOF_TOXIPROXY")
    monkeypatch.delenv("PAIRPROOF_TOOLS")
    for number in (2, 1):
        places[number].unlink()
        assert TOOL.find() == places[number - 1]


def test_outside_of_a_project_the_user_s_folder_and_path_are_left(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed()
    (folders / "project" / "pyproject.toml").unlink()
    with pytest.raises(LabError, match="none found"):
        TOOL.find()
    there = program(folders / "cache" / "pairproof" / "tools" / PROGRAM)
    assert TOOL.find() == there


def test_a_relative_path_is_made_absolute(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(folders / "project" / "deep" / "er" / "mine")
    monkeypatch.setenv("PAIRPROOF_TOXIPROXY", "mine")
    assert TOOL.find() == folders / "project" / "deep" / "er" / "mine"


def test_a_wrong_one_does_not_hide_a_right_one(folders: Path) -> None:
    wrong = installed(SAYS.replace(VERSION, "2.9.0"))
    there = program(folders / "bin" / PROGRAM)
    assert TOOL.usable() == there
    # Nobody has asked it.
    assert TOOL.find() == wrong


def marking(path: Path, mark: Path) -> Path:
    """A program that leaves a mark when it is executed."""
    return program(path, f"#!/bin/sh\ntouch {mark}\n{SAYS.partition(chr(10))[2]}")


def test_a_program_that_came_with_a_checkout_is_not_executed(folders: Path) -> None:
    mark = folders / "executed"
    foreign = marking(folders / "project" / ".tools" / PROGRAM, mark)
    for ask in (TOOL.find, TOOL.usable):
        with pytest.raises(
            LabError, match=f"{foreign} comes with the project, you have not installed it.*: run: pairpr"
        ):
            ask()
    assert not mark.exists()
    # Another one of this user's is found behind it, and installing puts it in its place.
    there = program(folders / "cache" / "pairproof" / "tools" / PROGRAM)
    assert TOOL.usable() == there and not mark.exists()
    there.unlink()
    program(folders / "bin" / "go", BUILDS)
    assert TOOL.install() == foreign == TOOL.usable() and not mark.exists()
    # What is installed is that file, not that name: changed by one character it is a stranger's again.
    marking(foreign, mark)
    with pytest.raises(LabError, match="comes with the project"):
        TOOL.usable()
    assert not mark.exists()


def test_the_list_of_labs_and_doctor_execute_nothing_that_they_look_for(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = folders / "executed"
    monkeypatch.setenv("JAVA_HOME", str(folders / "java"))
    java = marking(folders / "java" / "bin" / "java", mark)
    on_path = marking(folders / "bin" / PROGRAM, mark)
    assert labs.where("toxiproxy")["path"] == str(on_path)
    assert labs.where("java")["path"] == str(java)
    assert not mark.exists()
    TOOL.usable()
    assert mark.exists()


WRONG = {
    "is version 2.9.0": SAYS.replace(VERSION, "2.9.0"),
    "is version git": SAYS.replace(VERSION, "git"),
    f"is not a {PROGRAM}, or one older than 2.5": "#!/bin/sh\necho hello\nexit 2\n",
    "does not print its version within 0.5 s": "#!/bin/sh\nexec sleep 20\n",
    "does not run": "#!/no/such/program\n",
}


@pytest.mark.parametrize("said", WRONG)
def test_what_is_not_the_right_one_is_named_with_the_remedy(
    folders: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setattr(install, "ASK_LIMIT_S", 0.5)
    there = program(folders / "bin" / PROGRAM, WRONG[said])
    with pytest.raises(LabError) as error:
        TOOL.usable()
    assert f"{there} {said}" in str(error.value) and "run: pairproof labs install toxiproxy" in str(error.value)
    monkeypatch.setenv("PAIRPROOF_TOXIPROXY", str(there))
    for call in (TOOL.usable, TOOL.install):
        with pytest.raises(LabError, match=rf"^PAIRPROOF_TOXIPROXY: {there} {said}.*; name a .* {VERSION}, or unset"):
            call()


def test_a_missing_file_is_named(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path, said in ((folders / "none", "is not a file"), (folders, "is not a file")):
        monkeypatch.setenv("PAIRPROOF_TOXIPROXY", str(path))
        with pytest.raises(LabError, match=f"{path} {said}"):
            TOOL.find()


# Building, with a go that only pretends

GO = f"""#!/bin/sh
[ "$CGO_ENABLED" = 0 ] || exit 7
[ "$1 $2" = "install -ldflags" ] || exit 8
case "$3" in *Version={VERSION}) ;; *) exit 9 ;; esac
[ "$4" = github.com/Shopify/toxiproxy/v2/cmd/server@v{VERSION} ] || exit 10
"""
BUILDS = (
    GO + f"""printf '#!/bin/sh\\necho {PROGRAM} version {VERSION}\\n' > "$GOBIN/server" && chmod +x "$GOBIN/server"\n"""
)


def left(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_it_is_built_where_it_will_be_found_and_only_once(folders: Path) -> None:
    go = program(folders / "bin" / "go", BUILDS)
    tools = folders / "project" / ".tools"
    installed(SAYS.replace(VERSION, "2.9.0"))
    assert TOOL.install() == tools / PROGRAM == TOOL.find()
    assert left(tools) == [".gitignore", PROGRAM] and (tools / ".gitignore").read_text() == "*\n"
    go.unlink()
    assert TOOL.install() == tools / PROGRAM


@pytest.mark.parametrize(
    ("go", "said"),
    [
        (None, r"there is no go, which builds toxiproxy-server: install Go .*, or set PAIRPROOF_TOXIPROXY to"),
        ("#!/no/such/program\n", "go does not run: No such file or directory; install Go"),
        (
            "#!/bin/sh\necho no network >&2\necho at all >&2\nexit 1\n",
            r"could not build .*: no network \| at all; fix that",
        ),
        ("#!/bin/sh\nexit 0\n", "go could not build toxiproxy-server: no message; fix that"),
        ("#!/bin/sh\nexec sleep 20\n", r"go did not build toxiproxy-server within 0\.5 s; is the network available"),
        (BUILDS.replace(f"version {VERSION}", "version git"), "Go built something else: .* is version git; run: "),
    ],
)
def test_what_cannot_be_built_is_one_line_and_leaves_nothing(
    folders: Path, monkeypatch: pytest.MonkeyPatch, go: str | None, said: str
) -> None:
    monkeypatch.setattr(install, "BUILD_LIMIT_S", 0.5)
    if go is not None:
        program(folders / "bin" / "go", go)
    with pytest.raises(LabError, match=said) as error:
        TOOL.install()
    assert "\n" not in str(error.value)
    assert left(folders / "project" / ".tools") == [".gitignore"]


def test_a_folder_that_cannot_be_written_is_named(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(folders / "bin" / "go", BUILDS)
    (folders / "file").touch()
    monkeypatch.setenv("PAIRPROOF_TOOLS", str(folders / "file" / "tools"))
    with pytest.raises(LabError, match=r"cannot write into .*: Not a directory; set PAIRPROOF_TOOLS"):
        TOOL.install()


def test_what_another_process_has_installed_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOOLS_VARIABLE, str(tmp_path))

    def make(unfinished: Path) -> Path:
        for each, by in ((unfinished, "us"), (tmp_path, "them")):
            (each / "rocketmq").mkdir(exist_ok=True)
            (each / "rocketmq" / "jar").write_text(by)
        return unfinished / "rocketmq"

    assert (place("rocketmq", make) / "jar").read_text() == "them"
    (tmp_path / "file").mkdir()
    with pytest.raises(LabError, match="cannot write into"):
        place("file", lambda unfinished: program(unfinished / "file", SAYS))


def test_the_user_s_own_gitignore_and_what_a_link_leads_to_stay(folders: Path) -> None:
    tools = folders / "project" / ".tools"
    tools.mkdir()
    (folders / "victim").write_text("mine")
    (tools / ".gitignore").symlink_to(folders / "victim")
    (tools / "jars").symlink_to(folders / "cache")
    made = place("jars", lambda unfinished: program(unfinished / "jars" / "a.jar").parent)
    assert (folders / "victim").read_text() == "mine" and list((folders / "cache").glob("*.jar")) == []
    assert not made.is_symlink() and left(made) == ["a.jar"]


def test_a_cache_that_cannot_be_written_is_named(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folders / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(folders / "file"))
    with pytest.raises(LabError, match=r"cannot write into .*file/pairproof.*: Not a directory; set PAIRPROOF_TOOLS"):
        installed()
