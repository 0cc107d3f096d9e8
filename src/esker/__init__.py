"""Esker: a Kafka-format, Kafka-protocol commit log in Python."""

__version__ = "0.1.0"
