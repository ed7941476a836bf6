"""Snapshot selectors, one idea a file."""
