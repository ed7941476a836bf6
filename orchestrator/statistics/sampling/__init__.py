"""What other tasks, classes and examples would give: sampling with and without replacement."""
