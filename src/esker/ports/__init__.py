"""The doors to the world: files, clock, chance. Each is a Protocol and the real thing, nothing else.

Whoever needs the world is handed one of these; `esker.testing` has the ones that crash, lose and jump.
"""
