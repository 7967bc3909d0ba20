"""`python -m mediakit`: say what is installed and bound here, and what is missing."""

import sys

from mediakit.diagnosis import doctor


def main() -> int:
    """Print the report; return 1 when something is not as it should be."""
    diagnosis = doctor()
    sys.stdout.write(f"{diagnosis}\n")
    return 0 if diagnosis.is_ok else 1


if __name__ == "__main__":
    sys.exit(main())
