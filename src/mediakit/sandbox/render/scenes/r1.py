"""Family R1: it also makes drafts, and edits and extends clips (spec 4.4)."""

import re

from mediakit.sandbox.render.film.film_file import write_film
from mediakit.sandbox.render.film.reference_reel import Task, film_of
from mediakit.sandbox.render.protocol import Rendered, RenderError, RenderRequest
from mediakit.sandbox.render.scenes.default_film import reel_of

_EXTEND_WORDS = re.compile(r"\b(extend|continu|prolong)", re.IGNORECASE)
_EDIT_WORDS = re.compile(r"\b(edit|replac|remov|chang|restyl|recolou?r)", re.IGNORECASE)


def render(request: RenderRequest) -> Rendered:
    """Render the requested film; a draft always has 480p."""
    draft = request.flag("draft")
    resolution = "480p" if draft else "720p"
    reel = reel_of(
        request, resolution=resolution, audible=True, fixed=draft, task=task_of(request)
    )
    return write_film(film_of(reel), request.output, sketch=request.sketch)


def task_of(request: RenderRequest) -> Task:
    """Return the requested task; the words of the prompt decide for `auto`.

    Raises:
        RenderError: `invalid_input` when there is no clip to edit or to extend.
    """
    asked = request.text("omni_reference_task_type", "auto")
    if asked in ("edit", "extend") and not request.texts("video_urls"):
        raise RenderError.invalid(
            f"video_urls: {asked} needs at least one reference video."
        )
    match asked:
        case "edit" | "extend" | "reference":
            return asked
        case _:
            return _classified(request)


def _classified(request: RenderRequest) -> Task:
    """Choose edit or extend only if the other fields allow it."""
    adaptive = request.text("ratio", "adaptive") == "adaptive"
    if not (adaptive and request.texts("video_urls")):
        return "reference"
    automatic = request.body.get("duration") == "auto"
    if automatic and _EDIT_WORDS.search(request.text("prompt")):
        return "edit"
    if not automatic and _EXTEND_WORDS.search(request.text("prompt")):
        return "extend"
    return "reference"
