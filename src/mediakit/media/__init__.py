"""Media: probing, preflight checks, posters and previews.

They depend on the catalog, whose functions declare what they accept.
"""

from mediakit.media.bodies import body_with_placeholders as body_with_placeholders
from mediakit.media.bodies import facts_of as facts_of
from mediakit.media.bodies import is_url as is_url
from mediakit.media.bodies import lengths_wanted as lengths_wanted
from mediakit.media.bodies import local_file as local_file
from mediakit.media.bodies import placeholder as placeholder
from mediakit.media.bodies import preflight as preflight
from mediakit.media.bodies import probe_named as probe_named
from mediakit.media.files import content_type_of as content_type_of
from mediakit.media.files import file_of as file_of
from mediakit.media.files import kernel_folder as kernel_folder
from mediakit.media.files import plain_name as plain_name
from mediakit.media.files import result_suffix as result_suffix
from mediakit.media.files import size_text as size_text
from mediakit.media.files import write_kernel_file as write_kernel_file
from mediakit.media.probing import probe as probe
from mediakit.media.samples import POSTER_MAX_PX as POSTER_MAX_PX
from mediakit.media.samples import THUMBNAIL_MAX_PX as THUMBNAIL_MAX_PX
from mediakit.media.samples import poster_jpeg as poster_jpeg
