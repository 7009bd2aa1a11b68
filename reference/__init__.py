"""The broker pair that the harness is calibrated on: wire-compatible with RocketMQ 4.9, sans-IO."""
