"""The run folder: what is on disk, written completely or not at all, and checked when read."""
