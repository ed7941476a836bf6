"""Measuring snapshots on the tasks of a protocol."""
