"""Early stopping: which configurations are trained on, decided from the records only."""
