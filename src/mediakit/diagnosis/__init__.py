"""`mk.doctor()`: what is installed and configured here, and what is missing.

It depends on the client, through which it reads the service. It draws nothing.
"""

from mediakit.diagnosis.checks import doctor as doctor
from mediakit.diagnosis.report import Diagnosis as Diagnosis
