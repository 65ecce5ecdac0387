"""The door for other assistants (MCP): memory as tools, over the running server's REST API."""
