"""One partition's log: the shell around the rules, with the live cursors, above the files of `storage`."""
