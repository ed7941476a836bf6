"""The report as text, JSON, Markdown, LaTeX and HTML."""
