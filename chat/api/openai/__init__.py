"""The OpenAI protocol: `/v1/chat/completions` and `/v1/models`."""
