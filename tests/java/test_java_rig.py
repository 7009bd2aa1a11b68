"""What these tests stand on notices what goes wrong: no Java, a program that ends early, messages that do not come."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import jars
import pytest
from clients import Driver, JavaError, all_keys
from processes import Program

from pairproof.chaos.rocketmq import install


def test_a_machine_without_java_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    for name in ("java", "javac", "mvn"):
        with pytest.raises(jars.NoJava, match=f"there is no {name}.*apt-get install default-jdk-headless maven"):
            jars.program(name)


@pytest.mark.slow
def test_a_driver_that_does_not_compile_is_an_error_with_the_place(tmp_path: Path) -> None:
    source = tmp_path / "Broken.java"
    source.write_text("class Broken { int x = y; }")
    with pytest.raises(jars.NoJava, match=r"javac failed: .*Broken\.java:1: error"):
        jars.compile_sources([source], tmp_path, tmp_path / "classes")


def test_a_program_that_ends_before_it_is_ready_is_an_error_with_what_it_said(tmp_path: Path) -> None:
    program = Program(tmp_path, [sys.executable, "-c", "print('no room'); print('left')"], "listens")
    with pytest.raises(AssertionError, match="ended without saying 'listens': no room"):
        program.start()
    program = Program(tmp_path, [sys.executable, "-c", "input() if print('listens', flush=True) else 0"], "listens")
    program.start()
    program.kill()


def unnoticed(names: list[str], notice: str) -> list[str]:
    """Names of jars without their versions that no line of the notice begins with."""
    artifacts = {re.sub(r"-\d.*", "", name) for name in names}
    noticed = set(re.findall(r"^  (\S+)  +\S", notice, re.MULTILINE))
    return sorted(each for each in artifacts - noticed if not each.startswith("rocketmq-"))


@pytest.mark.slow
def test_every_jar_has_its_licence_in_the_notice() -> None:
    notice = (Path(__file__).parents[2] / "NOTICE").read_text()
    names = [each.name for version in install.JARS.values() for each in version.install().glob("*.jar")]
    assert len(names) > 150
    assert unnoticed(names, notice) == []
    assert unnoticed([*names, "netty-all-4.1.65.Final.jar"], notice.replace("netty-all", "nettle")) == ["netty-all"]


@pytest.mark.slow
def test_what_a_client_cannot_do_is_an_error_with_its_text(driver: Driver) -> None:
    with pytest.raises(JavaError, match="no such kind of client: browser"):
        driver.ask("start", client="one", kind="browser")


@pytest.mark.slow
def test_messages_that_do_not_come_and_a_driver_that_has_ended_are_errors(tmp_path: Path) -> None:
    one = Driver(tmp_path)
    with pytest.raises(AssertionError, match=r"no more than 0 s for the messages; nobody got 0"):
        one.wait(["nobody"], all_keys([{"key": "k0"}]), limit_s=0)
    one.close()
    with pytest.raises(AssertionError, match="the driver ended before the messages"):
        one.wait(["nobody"], all_keys([{"key": "k0"}]))
