"""Laws for any system: they know writes, promises, readings, nodes and their ends, and nothing of RocketMQ.

A system's driver records what they need: calls (:mod:`pairproof.harness.event_types.client`), promises and readings
(:mod:`pairproof.harness.event_types.store`). Labs record the rest. RocketMQ's labs record no promises: what a PUT_OK
is worth
its own laws say, in more detail.
"""
