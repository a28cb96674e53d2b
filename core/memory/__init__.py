"""What is remembered beyond one session: kept, recalled, ranked, faded."""
