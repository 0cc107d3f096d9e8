"""The files of one partition: segments, indexes, snapshots, checkpoints. No live cursors, no threads."""
