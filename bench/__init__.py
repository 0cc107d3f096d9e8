"""The bench: each row measures Esker beside a peer and beside a limit of the machine, in one run."""
