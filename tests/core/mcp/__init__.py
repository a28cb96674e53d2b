"""Tests of core/mcp, the client side of the Model Context Protocol."""
