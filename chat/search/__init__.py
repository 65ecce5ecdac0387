"""Finding what was said and what is known, by words and where there are vectors by meaning."""
