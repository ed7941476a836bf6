"""The data that every room uses: specifications, the plan, measurements."""
