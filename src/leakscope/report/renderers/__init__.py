"""Renderers of documents: plain text, terminal, Markdown and HTML; they depend on documents, not on studies."""
