"""Write docs/reference.md from the declarations of the functions."""

from pathlib import Path

from mediakit.catalog import Catalog
from mediakit.catalog.reference import reference_page

PAGE = Path(__file__).parents[1] / "docs" / "reference.md"


def main() -> None:
    """Write the page."""
    PAGE.write_text(reference_page(Catalog.default()), "utf-8")


if __name__ == "__main__":
    main()
