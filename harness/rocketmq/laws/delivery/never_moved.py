"""What laws share that do not apply with offsetCheckInSlave: there a slave may move a consumer, past what it lacks."""

from ....event_types.node import Config
from ...law import Law
from ...settings import is_on, parse


class NeverMoved(Law):
    def on_config(self, event: Config) -> None:
        self.applicable &= not is_on(parse(event.detail or "{}"), "offsetCheckInSlave")
