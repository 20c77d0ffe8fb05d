"""Charts as data (`model`), drawn as SVG for pages (`svg`) and by matplotlib for ``result.plot()`` (`figures`)."""
