"""How classes, examples, writers and attributes are split."""
