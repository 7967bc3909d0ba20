"""The tests run against mediakit's sandbox."""

pytest_plugins = ["mediakit.testing"]
