"""The answer of a report: who leads, which strategy to choose by, and what would decide it."""
