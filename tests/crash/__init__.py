"""Kills the real server at random moments and checks that nothing is lost, done twice or stuck."""
