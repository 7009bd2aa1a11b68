"""``pairproof advise``: report the guarantees of two broker files, the loss that each fault can cause, and fixes.

Needs no lab, JDK or jars. Its sources are the durability contract, decision 43's figures and the known deviations.
``check`` with the same files tests the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ...harness.commands import options, output
from ...harness.commands.helping import complete_targets, example
from ...harness.errors import UsageError
from ...harness.rocketmq.settings import VERSION

COLUMNS = ("fault", "of", "PUT_OK messages that can be lost", "on one broker only", "unavailable")


@click.command("advise", epilog=example("advise --master-conf broker-a.conf --slave-conf broker-a-s.conf"))
@options.configuration_files
@click.option(
    "--target",
    "target_name",
    default="reference",
    shell_complete=complete_targets,
    help="The release, such as rocketmq@5.3.1. Default: as in the files, or 4.9.7.",
)
@output.json_option
def command(master_conf: Path | None, slave_conf: Path | None, target_name: str, json_to: str | None) -> None:
    """Report what brokers with these files guarantee, what each fault can cost, and what to change first.

    No trial is played: no lab, JDK or jars are needed. A side without a file has RocketMQ's defaults. Each cell names
    its source: measured (decision 43, on 4.9.7), contract (docs/contract.md), or model.

    Exit codes: 0; 2 for a file that RocketMQ would not accept as a broker's, or would read differently than intended.
    """
    files = options.files(master_conf, slave_conf)
    if not files:
        raise UsageError("advise needs your brokers' files: --master-conf FILE --slave-conf FILE")
    found = advised(files, target_name)
    if json_to is not None:
        output.write_json(found, json_to)
    if json_to != output.STDOUT:
        _show(found)


def advised(files: Mapping[str, Path], target_name: str) -> dict[str, Any]:
    """See :mod:`pairproof.chaos.rocketmq.advising`. UsageError for another target or invalid files."""
    from ...harness.trials import resolve
    from ...reference.shell import broker_file, catalogue
    from ..rocketmq import advising, configuration

    target = resolve.target(target_name)
    if getattr(target, "system", "") != "rocketmq":
        raise UsageError(f"advise supports RocketMQ only, not {target_name}; name a release: rocketmq@{VERSION}")
    released: Mapping[str, str] = getattr(target, "releases", {})
    configuration.check(files)
    said = [broker_file.values(path) for path in files.values()]
    own = next((each["rocketmqVersion"] for each in said if "rocketmqVersion" in each), VERSION)
    # The reference has no release: it behaves as the default one.
    releases = {side: released.get(side, own) for side in configuration.SIDES}
    versions = {side: each if each[:1].isdigit() else VERSION for side, each in releases.items()}

    def runs(side: str) -> configuration.Program:
        # The table includes these; a remark changes no loss.
        idle = configuration.DECISIVE.keys() - {"inSyncReplicas"}
        kinds = {key: kind for key, kind in catalogue.of(versions[side]).items() if key not in idle}
        return configuration.Program({**configuration.reference().acts_on, **kinds}, versions[side])

    _, lines = configuration.brought(files, (), runs)
    for version in dict.fromkeys(versions.values()):
        if (known_as := catalogue.nearest(version)) != version:
            lines.append(f"which keys RocketMQ {version} has is assumed from {known_as}")
    if not released and own == VERSION:
        lines.append(f"neither --target nor a file names a release: this is for {VERSION}; --target rocketmq@5.5.0")
    return advising.describe(files, (), lines, releases)


def _show(found: Mapping[str, Any]) -> None:
    for line in found["deployment"]:
        output.echo(line)
    changes = [f"{number}. {each['text']}" for number, each in enumerate(found["changes"], 1)]
    _listed("Change first:", changes or ["nothing: no known setting would avoid more"])
    alike: dict[tuple[str, ...], list[str]] = {}
    for row in found["faults"]:
        cells = (f"{row[name]['says']} [{row[name]['source']}]" for name in ("lost", "single", "unavailable"))
        alike.setdefault((row["of"], *cells), []).append(row["fault"])
    output.table("What a fault can cost", COLUMNS, [(", ".join(faults), *rest) for rest, faults in alike.items()])
    _listed("Keys:", found["keys"])
    _listed("Known deviations of this version that these files do not avoid:", [
        f"{each['id']}: {each['means']}" + (f" ({', '.join(each['upstream'])})" if each["upstream"] else "")
        for each in found["deviations"]
    ])  # fmt: skip


def _listed(title: str, lines: list[str]) -> None:
    if lines:
        output.say(title, "bold")
    for line in lines:
        output.echo(f"  {line}")
