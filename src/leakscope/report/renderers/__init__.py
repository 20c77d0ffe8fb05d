"""Documents as plain text, in a terminal, as Markdown and as HTML. Renderers know documents and no study."""
