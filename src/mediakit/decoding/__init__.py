"""Decodes untrusted files: known formats, one kind of error, upright frames.

It depends only on the limits of media; client and sandbox share it.
"""

from mediakit.decoding.colours import as_bt709 as as_bt709
from mediakit.decoding.colours import bt709_frame as bt709_frame
from mediakit.decoding.colours import eight_bits as eight_bits
from mediakit.decoding.colours import in_srgb as in_srgb
from mediakit.decoding.colours import is_high_range as is_high_range
from mediakit.decoding.colours import on_white as on_white
from mediakit.decoding.containers import decoded_frames as decoded_frames
from mediakit.decoding.containers import decoder_environment as decoder_environment
from mediakit.decoding.containers import has_moving_pictures as has_moving_pictures
from mediakit.decoding.containers import holds as holds
from mediakit.decoding.containers import opened as opened
from mediakit.decoding.containers import packet_frames as packet_frames
from mediakit.decoding.containers import picture_track as picture_track
from mediakit.decoding.containers import sound_track as sound_track
from mediakit.decoding.errors import BrokenFileError as BrokenFileError
from mediakit.decoding.errors import decoder_errors as decoder_errors
from mediakit.decoding.lengths import Steps as Steps
from mediakit.decoding.lengths import counted as counted
from mediakit.decoding.orientation import Display as Display
from mediakit.decoding.orientation import display_of as display_of
from mediakit.decoding.pictures import is_picture as is_picture
from mediakit.decoding.pictures import opened_picture as opened_picture
from mediakit.decoding.pictures import picture_info as picture_info
from mediakit.decoding.pictures import small_picture as small_picture
from mediakit.decoding.pictures import without_warnings as without_warnings
from mediakit.decoding.recordings import A_MEDIUM as A_MEDIUM
from mediakit.decoding.recordings import recording_info as recording_info
