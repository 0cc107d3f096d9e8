"""Fakes that Esker ships for its own tests and those of others: the world through the doors of `esker.ports`, at its
worst, and the same again for the same seed."""
