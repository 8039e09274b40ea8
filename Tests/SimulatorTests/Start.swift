// Replaced by this target's first file.
