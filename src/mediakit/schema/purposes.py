"""The purposes of functions: the groups in which menus show them."""

from enum import StrEnum


class Purpose(StrEnum):
    """The groups, in the order of the menus, with their headings."""

    WORDS = "Make a video from words"
    PICTURES = "Make a video from pictures"
    PICTURE = "Make a picture"
    REFERENCES = "Make a video from references"
    CHANGE = "Change or combine clips"
    ENLARGE = "Enlarge"
    SOUND = "Make a sound"
