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
from mediakit.media.files import (
    file_of,
    kernel_folder,
    plain_name,
    result_suffix,
    size_text,
    write_kernel_file,
)
from mediakit.media.probing import probe
from mediakit.media.samples import POSTER_MAX_PX, THUMBNAIL_MAX_PX, poster_jpeg

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
    "write_kernel_file",
]
