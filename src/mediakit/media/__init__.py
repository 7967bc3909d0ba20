"""Media: probing, preflight checks, posters and previews.

It depends on the catalog, whose functions declare what they accept.
"""

from mediakit.media.bodies import (
    body_with_placeholders,
    facts_of,
    is_url,
    lengths_wanted,
    local_file,
    placeholder,
    preflight,
    probe_named,
)
from mediakit.media.kernel_files import kernel_folder, plain_name, write_kernel_file
from mediakit.media.objects import file_of
from mediakit.media.posters import (
    POSTER_MAX_PX,
    THUMBNAIL_MAX_PX,
    poster_jpeg,
    thumbnail_jpeg,
)
from mediakit.media.probing import probe
from mediakit.media.sizes import size_text
from mediakit.media.suffixes import result_suffix

__all__ = [
    "POSTER_MAX_PX",
    "THUMBNAIL_MAX_PX",
    "body_with_placeholders",
    "facts_of",
    "file_of",
    "is_url",
    "kernel_folder",
    "lengths_wanted",
    "local_file",
    "placeholder",
    "plain_name",
    "poster_jpeg",
    "preflight",
    "probe",
    "probe_named",
    "result_suffix",
    "size_text",
    "thumbnail_jpeg",
    "write_kernel_file",
]
