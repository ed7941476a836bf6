"""The learners, one method a module."""
