"""Media: what a file is, whether it will do, and a small picture of it.

It stands on the catalog, whose functions say what they take.
"""

from mediakit.media.bodies import (
    body_with_stand_ins,
    facts_of,
    is_url,
    lengths_wanted,
    local_file,
    preflight,
    probe_named,
    stand_in,
)
from mediakit.media.kept import kept_file, kernel_folder, plain_name
from mediakit.media.objects import file_of
from mediakit.media.posters import (
    POSTER_MAX_PX,
    THUMBNAIL_MAX_PX,
    poster_jpeg,
    thumbnail_jpeg,
)
from mediakit.media.probing import MediaInfo, probe
from mediakit.media.sizes import size_text

__all__ = [
    "POSTER_MAX_PX",
    "THUMBNAIL_MAX_PX",
    "MediaInfo",
    "body_with_stand_ins",
    "facts_of",
    "file_of",
    "is_url",
    "kept_file",
    "kernel_folder",
    "lengths_wanted",
    "local_file",
    "plain_name",
    "poster_jpeg",
    "preflight",
    "probe",
    "probe_named",
    "size_text",
    "stand_in",
    "thumbnail_jpeg",
]
