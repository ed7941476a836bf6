"""The sweep file as the user wrote it: text, grammar, axes, error messages."""
