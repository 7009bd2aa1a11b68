"""The model of a RocketMQ pair: state derived from the history, once per trial, for the laws."""
