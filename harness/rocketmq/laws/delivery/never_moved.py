"""Base of laws that do not apply with offsetCheckInSlave: a slave may then move a consumer past messages it lacks."""

from ....event_types.node import Config
from ...law import Law
from ...settings import is_on, parse


class NeverMoved(Law):
    def on_config(self, event: Config) -> None:
        self.applicable &= not is_on(parse(event.detail or "{}"), "offsetCheckInSlave")
