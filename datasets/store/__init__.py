"""Prepared pools on disk."""
