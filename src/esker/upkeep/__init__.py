"""Many logs on many disks, kept in order: the log dirs of a process, the flushes that appends share, and what has to be
done again and again.

Everything is called by the owner of the logs, one call at a time, unless a function says that it may block: such work
is handed out as a value, run anywhere, and told back to the owner.
"""
