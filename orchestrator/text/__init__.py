"""Text as it reaches a person."""
