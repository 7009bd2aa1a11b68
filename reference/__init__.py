"""The reference broker pair that calibrates the harness: wire-compatible with RocketMQ 4.9, sans-IO."""
