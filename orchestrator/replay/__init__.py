"""Records of run folders and of tables, read in the same way."""
