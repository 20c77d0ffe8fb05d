"""Reports: a result as a document, and renderers to text, Markdown, HTML and charts."""
