"""Hours of use in which everything goes wrong at random: `python -m tests.soak --minutes N`."""
