"""Laws for any system: about writes, promises, readings, nodes and their ends. Nothing here is specific to RocketMQ.

A system's driver records calls (:mod:`pairproof.harness.event_types.client`), promises and readings
(:mod:`pairproof.harness.event_types.store`). Labs record the rest. RocketMQ's labs record no promises: RocketMQ's own
laws state in more detail what a PUT_OK guarantees.
"""
