"""`python -m mediakit`: report what is installed, configured and missing."""

import sys

from mediakit.diagnosis import doctor


def main() -> int:
    """Print the report; return 1 if there is a problem."""
    diagnosis = doctor()
    sys.stdout.write(f"{diagnosis}\n")
    return 0 if diagnosis.is_ok else 1


if __name__ == "__main__":
    sys.exit(main())
