"""Kafka's own records: KRaft's metadata, committed offsets and groups, transactions. Pure.

`kraft` and `coordinator` are the doors; the `*_tables` are printed from Kafka's files by tools/schemas.py. What is not
known here is answered as `Unknown` with its bytes: a broker of a later version wrote it, and it is never dropped.
"""
