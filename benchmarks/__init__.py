"""Speed, as ratios measured side by side in one run: machines are noisy, so absolute times prove nothing."""
