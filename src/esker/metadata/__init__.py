"""Which topics there are, their ids and settings: Esker's own store, and what Kafka's metadata log says.

`store` is `esker.metadata` in the first log dir; `kraft` reads `__cluster_metadata-0` of a directory that Kafka wrote,
and never writes it. Neither knows of partitions' folders: who opens a directory asks both.
"""
