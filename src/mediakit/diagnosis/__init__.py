"""What is installed and bound here, and what is missing: `mk.doctor()`.

It stands on the client, whose way to the service it takes. It draws nothing.
"""

from mediakit.diagnosis.checks import doctor as doctor
