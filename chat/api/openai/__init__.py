"""The door for programs that speak OpenAI's protocol: `/v1/chat/completions` and `/v1/models` (design §9)."""
