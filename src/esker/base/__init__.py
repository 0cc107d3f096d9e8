"""Words that every room uses: Kafka's error numbers, the faults of bytes, errors. Imports nothing of ours."""
