"""Topics of a conversation: matching messages to topics, retiring idle topics, packing old messages."""
