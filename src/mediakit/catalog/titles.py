"""Names for people of the fields that mediakit declares."""

from collections.abc import Mapping
from dataclasses import replace

from mediakit.schema import FieldSpec

TITLES = {
    "aigc_watermark": "AI-content watermark",
    "audio_urls": "Reference audio",
    "autoprompt": "Automatic prompt",
    "draft": "Draft (480p preview)",
    "h264_output": "H.264 output",
    "image_urls": "Reference images",
    "modify_region_mask": "Region mask",
    "modify_region_roi": "Region to replace",
    "multi_shot": "Multiple shots",
    "omni_reference_task_type": "Reference task",
    "ratio": "Aspect ratio",
    "transition_durations_s": "Duration of each transition",
    "transition_prompts": "Prompt for each transition",
    "video_urls": "Reference videos",
}
"""Names of fields that say more to people than the API's own names."""


def with_titles(fields: Mapping[str, FieldSpec]) -> dict[str, FieldSpec]:
    """Return the fields of a function of ours with their names for people."""
    return {
        name: replace(spec, title=TITLES.get(name, "")) for name, spec in fields.items()
    }
