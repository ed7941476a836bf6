"""The run folder: what is on disk, written whole and checked when it is read."""
