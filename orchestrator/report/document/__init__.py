"""The report as a document of sections, tables and notes."""
