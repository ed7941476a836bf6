"""UT Zappos50K, where a task is a pair of attributes."""
