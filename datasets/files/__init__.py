"""Readers of data files, with bounds on size and memory."""
