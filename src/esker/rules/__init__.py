"""What should happen to a log, as pure functions of values: they touch no file, no clock and no chance."""
