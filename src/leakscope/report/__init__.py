"""The audit for people: a plain dict (``summary``), and the terminal text and the HTML page made from it."""
