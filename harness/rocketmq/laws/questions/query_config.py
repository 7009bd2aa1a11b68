"""``query-config``: a broker runs with the settings that it was given.

Asked how it is set, it tells of each setting that the history has what it was given, or the default where it was given
none. Compared as text; what the history does not have of this broker, or the broker does not tell, is not judged.

Left out: values that leave the choice to the broker (an empty address, 0 inSyncReplicas);
accessMessageInMemoryMaxRatio of a slave of RocketMQ, which takes 10 from it when it starts.
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
FREE = (("brokerIP2", ""), ("haMasterAddress", ""), ("inSyncReplicas", 0), ("namesrvAddr", ""))
"""Settings with which the broker chooses."""


class QueryConfig(Law):
    id = "query-config"
    kind = CONVENTION
    promise = "A broker runs with the settings that it was given."
    source = "AdminBrokerProcessor.getBrokerConfig, Configuration.getAllConfigsFormatString"
    needs = frozenset({"config", "answer"})

    def begin(self) -> None:
        self.given: dict[str, dict[str, object]] = {}
        """By broker."""

    def on_config(self, event: Config) -> None:
        self.given[event.node] = json.loads(event.detail)

    @only("config")
    def on_answer(self, event: Answer) -> None:
        if event.status in NOT_ANSWERED:
            return
        self.judged += 1
        if event.status != "PUT_OK":
            self.violate(event, f"{event.node}, asked how it is set, answers {event.status}: {event.detail or ''}")
            return
        given, told = self.given.get(event.node, {}), json.loads(event.detail or "{}")
        left_out = OWN_OF_SLAVES if self.known.is_a_black_box(event.node) and given.get("brokerId") else None
        for name in sorted((given.keys() & told.keys()) - {left_out}):
            if (name, given[name]) not in FREE and as_text(given[name]) != told[name]:
                self.violate(event, f"{event.node} has {name}={told[name]}; it was given {as_text(given[name])}")
