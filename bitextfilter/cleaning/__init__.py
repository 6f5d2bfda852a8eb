"""Raw rows to clean ones in one pass: repairs, rules, duplicates, scores, a cut."""
