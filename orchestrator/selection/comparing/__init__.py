"""Methods, strategies and worlds compared by what was selected."""
