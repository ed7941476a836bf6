"""Text that is shown to people."""
