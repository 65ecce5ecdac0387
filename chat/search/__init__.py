"""Search over conversations, messages and facts: by words, and for facts also by their embeddings."""
