"""What people want of a function: the groups in which functions are offered."""

from enum import StrEnum


class Purpose(StrEnum):
    """The groups in the order in which they are offered, with their headings."""

    WORDS = "Make a video from words"
    PICTURES = "Make a video from pictures"
    PICTURE = "Make a picture"
    REFERENCES = "Make a video from references"
    CHANGE = "Change or combine clips"
    ENLARGE = "Enlarge"
    SOUND = "Make a sound"
