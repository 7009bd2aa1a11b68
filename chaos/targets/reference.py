"""The reference pair as a target, and its mutants: the same pair with one decision made wrongly."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from pairproof.chaos.mutants import MUTANTS, Mutant
from pairproof.harness.errors import UsageError
from pairproof.harness.schedule import Args, Scalar
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.errors import ConfigError

DEFAULTS: Args = {
    "brokerRole": "SYNC_MASTER",
    "flushDiskType": "ASYNC_FLUSH",
    # Small files and batches, so that a handful of messages crosses every border.
    "mappedFileSizeCommitLog": 2_048,
    "haTransferBatchSize": 512,
}
LAB_PREFIX = "lab."


class ReferenceTarget(NamedTuple):
    """The reference broker pair; ``mutated`` replaces the broker class of one node."""

    mutated: Mutant | None = None

    @property
    def name(self) -> str:
        """``reference`` or ``reference+mutant``."""
        return f"reference+{self.mutated.name}" if self.mutated else "reference"

    def mutant(self, name: str) -> ReferenceTarget:
        """The target with this mutant in place of the correct node."""
        if name not in MUTANTS:
            raise UsageError(f"unknown mutant {name!r}; valid: {', '.join(MUTANTS)}")
        return ReferenceTarget(MUTANTS[name])

    def settings(self, schedule: Args) -> Args:
        """Defaults overlaid by the schedule's settings; UsageError for a key or value that cannot be."""
        merged = {**DEFAULTS, **schedule}
        self.config("master", merged)
        self.config("slave", merged)
        return merged

    def config(self, node: str, settings: Args) -> BrokerConfig:
        """One node's broker configuration."""
        return _config(node, tuple(sorted(settings.items())))

    def broker_class(self, node: str) -> type[Broker]:
        """The class that plays this node."""
        if self.mutated is not None and self.mutated.node == node:
            return self.mutated.broker
        return Broker


@lru_cache(maxsize=1_024)
def _config(node: str, settings: tuple[tuple[str, Scalar], ...]) -> BrokerConfig:
    # Cached: a search opens thousands of trials with a handful of settings.
    values: dict[str, object] = {k: v for k, v in settings if not k.startswith(LAB_PREFIX)}
    if node == "slave":
        values |= {"brokerRole": "SLAVE", "brokerId": 1, "haMasterAddress": "ha", "listenPort": 10_921}
    try:
        return BrokerConfig.from_properties(values)
    except ConfigError as why:
        raise UsageError(str(why)) from None


TARGET = ReferenceTarget()
