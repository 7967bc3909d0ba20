"""The client against the sandbox and against servers that misbehave."""
