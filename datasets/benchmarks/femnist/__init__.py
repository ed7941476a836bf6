"""FEMNIST, where a task is a writer."""
