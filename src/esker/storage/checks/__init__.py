"""The looks that `check` takes, a file kind each. Each yields findings and knows nothing of the others."""
