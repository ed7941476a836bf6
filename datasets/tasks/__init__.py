"""Task distributions, and the episodes drawn from them."""
