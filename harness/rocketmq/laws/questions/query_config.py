"""``query-config``: a broker runs with the settings that it was given.

Checks:
- Each setting in the answer that the history also has is the configured value, or the default, compared as text.
Abstains when:
- The value leaves the choice to the broker (an empty address, 0 inSyncReplicas).
- The setting is a RocketMQ slave's accessMessageInMemoryMaxRatio: the broker subtracts 10 at its start.
Source: AdminBrokerProcessor.getBrokerConfig, Configuration.getAllConfigsFormatString; BrokerStartup.
"""

import json

from ....event_types.node import Config
from ....judging.law import CONVENTION, only
from ....trials.schedule import as_text
from ...event_types.answers import Answer
from ...law import Law
from .asked import NOT_ANSWERED

OWN_OF_SLAVES = "accessMessageInMemoryMaxRatio"
BROKERS_CHOICE = (("brokerIP2", ""), ("haMasterAddress", ""), ("inSyncReplicas", 0), ("namesrvAddr", ""))


class QueryConfig(Law):
    kind = CONVENTION
    needs = frozenset({"config", "answer"})

    def begin(self) -> None:
        self.given: dict[str, dict[str, object]] = {}

    def on_config(self, event: Config) -> None:
        self.given[event.node] = json.loads(event.detail)

    @only("config")
    def on_answer(self, event: Answer) -> None:
        if event.status in NOT_ANSWERED:
            return
        self.judged += 1
        if event.status != "PUT_OK":
            self.violate(event, f"{event.node}, asked for its settings, answers {event.status}: {event.detail or ''}")
            return
        given, reported = self.given.get(event.node, {}), json.loads(event.detail or "{}")
        left_out = OWN_OF_SLAVES if self.known.is_a_black_box(event.node) and given.get("brokerId") else None
        for name in sorted((given.keys() & reported.keys()) - {left_out}):
            if (name, given[name]) not in BROKERS_CHOICE and as_text(given[name]) != reported[name]:
                self.violate(event, f"{event.node} has {name}={reported[name]}; it was given {as_text(given[name])}")
