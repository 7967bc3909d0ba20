"""Servers, proxies and databases to test against."""
