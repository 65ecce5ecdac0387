"""The MCP server: memory as tools for other assistants.

Each tool calls the REST API of the running server.
"""
