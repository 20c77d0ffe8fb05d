"""Speed, as ratios measured side by side in one run: absolute times depend on the load of the machine."""
