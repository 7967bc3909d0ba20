"""Request bodies as described by public media generation services: each shape once.

Names, types, choices and bounds only, each under a path of this interface; of long
lists of choices a few. Each document is followed by accepted bodies, and by rejected
bodies with the invalid field.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
Wrong = tuple[Json, str]

URL = "https://a.test/1.png"
TEXT: Json = {"type": "string"}
WHOLE: Json = {"type": "integer"}
NUMBER: Json = {"type": "number"}
FLAG: Json = {"type": "boolean"}
LINK: Json = {"type": "string", "format": "uri"}
NULL: Json = {"type": "null"}


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def obj(required: str = "", **properties: Any) -> Json:
    schema: Json = {"type": "object", "properties": properties}
    return {**schema, "required": required.split()} if required else schema


def closed(required: str = "", **properties: Any) -> Json:
    return {**obj(required, **properties), "additionalProperties": False}


def enum(*values: Any, **more: Any) -> Json:
    return {"type": "string", "enum": [*values], **more}


def whole(low: int, high: int, **more: Any) -> Json:
    return {"type": "integer", "minimum": low, "maximum": high, **more}


def number(low: float, high: float, **more: Any) -> Json:
    return {"type": "number", "minimum": low, "maximum": high, **more}


def text(least: int = 0, most: int | None = None, **more: Any) -> Json:
    bounds = {"minLength": least, "maxLength": most}
    return {"type": "string", **{k: v for k, v in bounds.items() if v}, **more}


def many(item: Json, **more: Any) -> Json:
    return {"type": "array", "items": item, **more}


def or_null(schema: Json) -> Json:
    return {"anyOf": [schema, NULL]}


@dataclass(frozen=True)
class Api:
    """A service's document, and bodies by function.

    Args:
        name: The service.
        version: Of OpenAPI.
        bodies: The schema of each function's body.
        schemas: What the schemas refer to.
        right: Bodies that are taken.
        wrong: Rejected bodies, each with the invalid field.
        others: Functions whose body is not JSON, with its content type.
        left_out: The content types of functions that cannot be offered.
    """

    name: str
    version: str
    bodies: dict[str, Json]
    right: dict[str, list[Json]]
    wrong: dict[str, list[Wrong]]
    schemas: Json = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name

    def path(self, function: str) -> str:
        return f"{self.name}/model/{function}"

    @property
    def document(self) -> Json:
        contents = {
            f: {"application/json": {"schema": s}} for f, s in self.bodies.items()
        }
        contents |= {
            f: {kind: {"schema": obj(prompt=TEXT)}} for f, kind in self.others.items()
        }
        return {
            "openapi": self.version,
            "info": {"title": self.name, "version": "1"},
            "paths": {
                f"/v1/media/{self.path(name)}": {
                    "post": {"requestBody": {"content": content}, "responses": {}}
                }
                for name, content in contents.items()
            },
            "components": {"schemas": self.schemas},
        }


SIZES = ("square_hd", "square", "portrait_4_3", "landscape_4_3", "landscape_16_9")
FAL = Api(
    "fal",
    "3.0.4",
    {
        "text-to-image": ref("FluxDevInput"),
        "text-to-image-with-loras": ref("FluxLoraInput"),
        "image-to-video": ref("KlingInput"),
        "text-to-speech": ref("SpeechInput"),
    },
    schemas={
        "ImageSize": obj(
            width={**WHOLE, "maximum": 14142, "exclusiveMinimum": True, "minimum": 0},
            height={**WHOLE, "maximum": 14142, "exclusiveMinimum": True, "minimum": 0},
        ),
        "LoraWeight": obj("path", path=TEXT, scale=number(0, 4, default=1)),
        "FluxDevInput": obj(
            "prompt",
            prompt=TEXT,
            image_size={
                "anyOf": [ref("ImageSize"), enum(*SIZES)],
                "default": "landscape_4_3",
            },
            seed=or_null(WHOLE),
            num_images=whole(1, 4, default=1),
        ),
        "FluxLoraInput": obj(
            "prompt",
            prompt=TEXT,
            image_size={"anyOf": [ref("ImageSize"), enum(*SIZES)]},
            loras=many(ref("LoraWeight"), default=[]),
        ),
        "CameraControl": obj(
            "movement_type movement_value",
            movement_type=enum("horizontal", "vertical", "pan", "tilt", "roll", "zoom"),
            movement_value=whole(-10, 10),
        ),
        "Trajectory": obj("x y", x=WHOLE, y=WHOLE),
        "DynamicMask": obj(
            "mask_url", mask_url=TEXT, trajectories=many(ref("Trajectory"))
        ),
        "KlingInput": obj(
            "prompt image_url",
            prompt=text(most=2500),
            image_url=TEXT,
            duration=enum("5", "10", default="5"),
            dynamic_masks=many(ref("DynamicMask")),
            camera_control=ref("CameraControl"),
        ),
        "VoiceSetting": obj(
            speed=number(0.5, 2, default=1),
            pitch=whole(-12, 12, default=0),
        ),
        "SpeechInput": obj(
            "text",
            text=text(1, 5000),
            voice_setting={"allOf": [ref("VoiceSetting")], "default": {"speed": 1}},
        ),
    },
    right={
        "text-to-image": [
            {"prompt": "a", "image_size": "square_hd"},
            {"prompt": "a", "image_size": {"width": 640, "height": 480}, "seed": None},
        ],
        "text-to-image-with-loras": [{"prompt": "a", "loras": [{"path": URL}]}],
        "image-to-video": [
            {
                "prompt": "a",
                "image_url": URL,
                "camera_control": {"movement_type": "pan", "movement_value": -3},
                "dynamic_masks": [
                    {"mask_url": URL, "trajectories": [{"x": 1, "y": 2}]}
                ],
            }
        ],
        "text-to-speech": [{"text": "a", "voice_setting": {"pitch": -12}}],
    },
    wrong={
        "text-to-image": [
            ({"prompt": "a", "image_size": "round"}, "image_size"),
            ({"prompt": "a", "image_size": {"width": 0}}, "image_size.width"),
            ({"prompt": "a", "num_images": 5}, "num_images"),
            ({}, "prompt"),
        ],
        "text-to-image-with-loras": [
            ({"prompt": "a", "loras": [{"path": URL, "scale": 5}]}, "loras[0].scale")
        ],
        "image-to-video": [
            ({"prompt": "a", "image_url": URL, "duration": 5}, "duration"),
            (
                {
                    "prompt": "a",
                    "image_url": URL,
                    "camera_control": {"movement_type": "pan"},
                },
                "camera_control.movement_value",
            ),
        ],
        "text-to-speech": [
            ({"text": "a", "voice_setting": {"speed": 3}}, "voice_setting.speed")
        ],
    },
)

FRAME = closed("uri position", uri=LINK, position=enum("first", "last"))
MODERATION = closed(publicFigureThreshold=enum("auto", "low"))
RUNWAY = Api(
    "runway",
    "3.1.0",
    {
        "image-to-video": {
            "oneOf": [
                closed(
                    "model promptImage ratio",
                    model={"type": "string", "const": "gen4_turbo"},
                    promptImage={
                        "anyOf": [
                            LINK,
                            many(
                                closed(
                                    "uri position",
                                    uri=LINK,
                                    position={"const": "first"},
                                ),
                                minItems=1,
                                maxItems=1,
                            ),
                        ]
                    },
                    ratio=enum("1280:720", "720:1280", "960:960"),
                    duration=whole(2, 10),
                    seed=whole(0, 4294967295),
                    contentModeration=MODERATION,
                ),
                closed(
                    "model promptImage",
                    model={"type": "string", "const": "gen3a_turbo"},
                    promptImage={"anyOf": [LINK, many(FRAME, minItems=1, maxItems=2)]},
                    ratio=enum("768:1280", "1280:768"),
                    duration={"type": "integer", "enum": [5, 10]},
                    seed=whole(0, 4294967295),
                ),
                closed(
                    "model promptImage ratio duration",
                    model={"type": "string", "const": "veo3"},
                    promptImage=LINK,
                    ratio=enum("1280:720", "720:1280"),
                    duration={"type": "integer", "const": 8},
                ),
            ],
            "discriminator": {"propertyName": "model"},
        },
        "character-performance": closed(
            "model character reference",
            model={"const": "act_two"},
            character={
                "oneOf": [
                    closed("type uri", type={"const": "image"}, uri=LINK),
                    closed("type uri", type={"const": "video"}, uri=LINK),
                ]
            },
            reference=closed("type uri", type={"const": "video"}, uri=LINK),
        ),
    },
    right={
        "image-to-video": [
            {
                "model": "gen4_turbo",
                "promptImage": URL,
                "ratio": "960:960",
                "duration": 7,
            },
            {
                "model": "gen3a_turbo",
                "promptImage": [
                    {"uri": URL, "position": "first"},
                    {"uri": URL, "position": "last"},
                ],
            },
            {"model": "veo3", "promptImage": URL, "ratio": "1280:720", "duration": 8},
        ],
        "character-performance": [
            {
                "model": "act_two",
                "character": {"type": "image", "uri": URL},
                "reference": {"type": "video", "uri": URL},
            }
        ],
    },
    wrong={
        "image-to-video": [
            ({}, "model"),
            ({"model": "gen5"}, "model"),
            ({"model": "gen4_turbo", "promptImage": URL}, "ratio"),
            ({"model": "gen3a_turbo", "promptImage": URL, "ratio": "960:960"}, "ratio"),
            ({"model": "gen3a_turbo", "promptImage": URL, "duration": 7}, "duration"),
            ({"model": "gen3a_turbo", "promptImage": []}, "promptImage"),
            (
                {"model": "gen3a_turbo", "promptImage": [{"uri": URL}]},
                "promptImage[0].position",
            ),
            (
                {
                    "model": "veo3",
                    "promptImage": URL,
                    "ratio": "1280:720",
                    "duration": 8,
                    "seed": 1,
                },
                "seed",
            ),
        ],
        "character-performance": [
            (
                {
                    "model": "act_two",
                    "character": {"type": "sound", "uri": URL},
                    "reference": {"type": "video", "uri": URL},
                },
                "character.type",
            )
        ],
    },
)

KEYFRAME = {
    "oneOf": [ref("GenerationReference"), ref("ImageReference")],
    "discriminator": {
        "propertyName": "type",
        "mapping": {
            "generation": "#/components/schemas/GenerationReference",
            "image": "#/components/schemas/ImageReference",
        },
    },
}
LUMA = Api(
    "luma",
    "3.1.0",
    {
        "text-to-video": ref("GenerationRequest"),
    },
    schemas={
        "AspectRatio": enum("1:1", "16:9", "9:16", "4:3", default="16:9"),
        "GenerationReference": obj(
            "type id", type=enum("generation"), id=text(format="uuid")
        ),
        "ImageReference": obj("type url", type=enum("image"), url=LINK),
        "Keyframe": KEYFRAME,
        "Resolution": {
            "anyOf": [enum("540p", "720p", "1080p"), TEXT],
            "default": "720p",
        },
        "Duration": {"anyOf": [enum("5s", "9s"), TEXT]},
        "GenerationRequest": obj(
            "model",
            prompt=text(3, 5000),
            aspect_ratio=ref("AspectRatio"),
            keyframes=obj(frame0=ref("Keyframe"), frame1=ref("Keyframe")),
            model=enum("ray-2", "ray-flash-2", default="ray-2"),
            resolution=ref("Resolution"),
            duration=ref("Duration"),
            concepts=many(obj("key", key=TEXT)),
        ),
    },
    right={
        "text-to-video": [
            {
                "model": "ray-2",
                "keyframes": {
                    "frame0": {"type": "image", "url": URL},
                    "frame1": {"type": "generation", "id": "7e4f"},
                },
                "duration": "9s",
                "resolution": "4k",
            }
        ],
    },
    wrong={
        "text-to-video": [
            (
                {"model": "ray-2", "keyframes": {"frame0": {"type": "image"}}},
                "keyframes.frame0.url",
            ),
            ({"model": "ray-2", "prompt": "a"}, "prompt"),
            ({"model": "ray-2", "duration": 5}, "duration"),
        ],
    },
)


COLOR = obj(
    "rgb",
    rgb=many(whole(0, 255), minItems=3, maxItems=3),
    weight={**NUMBER, "nullable": True},
)
RECRAFT = Api(
    "recraft",
    "3.0.3",
    {
        "text-to-image": obj(
            "prompt",
            prompt=text(1, 1000),
            n={**whole(1, 6), "default": 1, "nullable": True},
            model={"allOf": [ref("TransformModel")], "nullable": True},
            style={"allOf": [ref("ImageStyle")], "nullable": True},
            size={"allOf": [ref("ImageSize")], "nullable": True},
            controls={"allOf": [ref("UserControls")], "nullable": True},
            text_layout={
                "type": "array",
                "items": ref("TextLayoutItem"),
                "nullable": True,
            },
            response_format={"allOf": [enum("url", "b64_json")], "default": "url"},
        )
    },
    schemas={
        "TransformModel": enum("recraftv3", "recraftv2"),
        "ImageStyle": enum("digital_illustration", "realistic_image", "any"),
        "ImageSize": enum("1024x1024", "1365x1024", "1024x1365"),
        "UserControls": obj(
            artistic_level={**whole(0, 5), "nullable": True},
            colors=many(COLOR),
            background_color={"allOf": [COLOR], "nullable": True},
            no_text={**FLAG, "nullable": True},
        ),
        "TextLayoutItem": obj(
            "text bbox",
            text=TEXT,
            bbox=many(many(NUMBER, minItems=2, maxItems=2), minItems=4, maxItems=4),
        ),
    },
    others={
        "image-to-image": "multipart/form-data",
        "vectorize": "multipart/form-data",
    },
    left_out={
        "recraft/model/image-to-image": "multipart/form-data",
        "recraft/model/vectorize": "multipart/form-data",
    },
    right={
        "text-to-image": [
            {"prompt": "a", "size": "1024x1024", "model": None},
            {"prompt": "a", "controls": {"colors": [{"rgb": [0, 128, 255]}]}},
            {
                "prompt": "a",
                "text_layout": [
                    {"text": "A", "bbox": [[0, 0], [1, 0], [1, 1], [0, 1]]}
                ],
            },
        ]
    },
    wrong={
        "text-to-image": [
            ({"prompt": ""}, "prompt"),
            (
                {"prompt": "a", "controls": {"colors": [{"rgb": [0, 0, 256]}]}},
                "controls.colors[0].rgb[2]",
            ),
            (
                {"prompt": "a", "text_layout": [{"text": "A", "bbox": [[0, 0]]}]},
                "text_layout[0].bbox",
            ),
        ]
    },
)

XAI = Api(
    "xai",
    "3.1.0",
    {
        "text-to-image": obj(
            "prompt",
            prompt=TEXT,
            model={"type": ["string", "null"]},
            n={
                "type": ["integer", "null"],
                "format": "int32",
                "minimum": 1,
                "maximum": 10,
            },
            response_format={
                "type": ["string", "null"],
                "enum": ["url", "b64_json", None],
            },
            user={"type": ["string", "null"]},
            image={"oneOf": [NULL, ref("ImageUrl")]},
            aspect_ratio={"oneOf": [NULL, ref("AspectRatio")]},
        )
    },
    schemas={
        "ImageUrl": obj("url", url=TEXT, type={"type": ["string", "null"]}),
        "AspectRatio": enum("1:1", "16:9", "auto"),
    },
    right={
        "text-to-image": [
            {"prompt": "a", "n": None, "image": None},
            {"prompt": "a", "image": {"url": URL}, "aspect_ratio": "auto"},
        ]
    },
    wrong={
        "text-to-image": [
            ({"prompt": "a", "n": 11}, "n"),
            ({"prompt": "a", "image": {}}, "image.url"),
            ({"prompt": "a", "response_format": "png"}, "response_format"),
        ]
    },
)

HEDRA = Api(
    "hedra",
    "3.1.0",
    {
        "generations": {
            "oneOf": [ref("GenerateVideoInput"), ref("GenerateImageInput")],
            "discriminator": {
                "propertyName": "type",
                "mapping": {
                    "video": "#/components/schemas/GenerateVideoInput",
                    "image": "#/components/schemas/GenerateImageInput",
                },
            },
        }
    },
    schemas={
        "VideoInputs": obj(
            "text_prompt",
            text_prompt=TEXT,
            resolution={"anyOf": [enum("540p", "720p"), NULL]},
            aspect_ratio={"anyOf": [enum("16:9", "9:16", "1:1"), NULL]},
            duration_ms={"anyOf": [{**WHOLE, "exclusiveMinimum": 0}, NULL]},
        ),
        "GenerateVideoInput": obj(
            "generated_video_inputs",
            type={"const": "video", "type": "string", "default": "video"},
            ai_model_id=or_null(text(format="uuid")),
            generated_video_inputs=ref("VideoInputs"),
        ),
        "GenerateImageInput": obj(
            "text_prompt ai_model_id",
            type={"const": "image", "type": "string", "default": "image"},
            text_prompt=TEXT,
            ai_model_id=or_null(text(format="uuid")),
            reference_image_ids=or_null(many(TEXT)),
        ),
    },
    right={
        "generations": [
            {
                "type": "video",
                "generated_video_inputs": {"text_prompt": "a", "resolution": None},
            },
            {"type": "image", "text_prompt": "a", "ai_model_id": None},
        ]
    },
    wrong={
        "generations": [
            ({}, "type"),
            ({"type": "image", "text_prompt": "a"}, "ai_model_id"),
            ({"type": "video"}, "generated_video_inputs"),
            (
                {
                    "type": "video",
                    "generated_video_inputs": {"text_prompt": "a", "duration_ms": 0},
                },
                "generated_video_inputs.duration_ms",
            ),
        ]
    },
)

FILTER = {
    "oneOf": [
        obj("model", model=enum("amq-13"), noise=number(-1, 1), details=number(-1, 1)),
        obj("model", model=enum("chr-2"), slowmo=whole(1, 16), fps=whole(15, 240)),
    ]
}
TOPAZ = Api(
    "topaz",
    "3.0.3",
    {
        "video-upscale": obj(
            "source filters output",
            source=obj(
                "container size duration frameCount frameRate resolution",
                container=enum("mov", "mp4", "mkv"),
                size=WHOLE,
                duration=NUMBER,
                frameCount=WHOLE,
                frameRate=NUMBER,
                resolution=obj("width height", width=WHOLE, height=WHOLE),
            ),
            filters=many(FILTER, minItems=1),
            output=obj(
                "resolution frameRate audioCodec audioTransfer",
                resolution=obj("width height", width=WHOLE, height=WHOLE),
                frameRate=NUMBER,
                audioCodec=enum("AAC", "AC3", "PCM"),
                audioTransfer=enum("Copy", "Convert", "None"),
            ),
        ),
        "complete-upload": many(obj("partNum eTag", partNum=WHOLE, eTag=TEXT)),
    },
    others={"image-enhance": "multipart/form-data"},
    left_out={
        "topaz/model/complete-upload": "a JSON array",
        "topaz/model/image-enhance": "multipart/form-data",
    },
    right={
        "video-upscale": [
            {
                "source": {
                    "container": "mp4",
                    "size": 5,
                    "duration": 2.5,
                    "frameCount": 60,
                    "frameRate": 24,
                    "resolution": {"width": 640, "height": 360},
                },
                "filters": [
                    {"model": "amq-13", "noise": 0.5},
                    {"model": "chr-2", "fps": 60},
                ],
                "output": {
                    "resolution": {"width": 1280, "height": 720},
                    "frameRate": 60,
                    "audioCodec": "AAC",
                    "audioTransfer": "Copy",
                },
            }
        ]
    },
    wrong={
        "video-upscale": [
            ({"filters": [{"model": "chr-2", "fps": 5}]}, "filters[0].fps")
        ]
    },
)

OPENAI = Api(
    "openai",
    "3.1.0",
    {
        "text-to-image": ref("CreateImageRequest"),
        "text-to-speech": ref("CreateSpeechRequest"),
    },
    schemas={
        "CreateImageRequest": obj(
            "prompt",
            prompt=TEXT,
            model={
                "anyOf": [TEXT, enum("gpt-image-1", "dall-e-3")],
                "default": "dall-e-2",
                "nullable": True,
            },
            n={**whole(1, 10), "nullable": True, "default": 1},
            quality={
                "anyOf": [enum("standard", "hd", "auto"), NULL],
                "default": "auto",
            },
            size=enum("auto", "1024x1024", "1536x1024", nullable=True),
            output_compression={"type": "integer", "nullable": True, "default": 100},
            stream={"anyOf": [FLAG, NULL], "default": False},
            partial_images={"anyOf": [whole(0, 3, default=0), NULL]},
        ),
        "VoiceIds": {"anyOf": [TEXT, enum("alloy", "verse")]},
        "CreateSpeechRequest": closed(
            "model input voice",
            model={"anyOf": [TEXT, enum("tts-1", "tts-1-hd")]},
            input=text(most=4096),
            voice={"anyOf": [ref("VoiceIds"), closed("id", id=TEXT)]},
        ),
    },
    others={"image-edit": "multipart/form-data", "create-video": "multipart/form-data"},
    left_out={
        "openai/model/image-edit": "multipart/form-data",
        "openai/model/create-video": "multipart/form-data",
    },
    right={
        "text-to-image": [
            {"prompt": "a", "size": None, "quality": "hd", "partial_images": 3}
        ],
        "text-to-speech": [
            {"model": "tts-1", "input": "a", "voice": "alloy"},
            {"model": "tts-1", "input": "a", "voice": {"id": "voice_1"}},
        ],
    },
    wrong={
        "text-to-image": [
            ({"prompt": "a", "quality": "low"}, "quality"),
            ({"prompt": "a", "partial_images": 4}, "partial_images"),
        ],
        "text-to-speech": [
            ({"model": "tts-1", "input": "a", "voice": 5}, "voice"),
            ({"model": "tts-1", "input": "a", "voice": {}}, "voice.id"),
        ],
    },
)


def conditions(depth: int) -> Json:
    """Return names of the members of a union that holds itself, so many levels deep."""
    schemas: Json = {}
    for level in range(depth):
        inner = ref(f"Node{level + 1}") if level + 1 < depth else TEXT
        schemas[f"Not{level}"] = obj("type of", type={"const": "not"}, of=inner)
        schemas[f"Both{level}"] = obj(
            "type left right", type={"const": "both"}, left=inner, right=TEXT
        )
        schemas[f"Node{level}"] = {
            "oneOf": [ref(f"Not{level}"), ref(f"Both{level}")],
            "discriminator": {"propertyName": "type"},
        }
    return schemas


def negated(depth: int) -> object:
    """Return a value of such a union, as deep as it goes."""
    return {"type": "not", "of": negated(depth - 1)} if depth else "end"


ELEVENLABS = Api(
    "elevenlabs",
    "3.1.0",
    {
        "text-to-speech": ref("Speech"),
        "agent": obj("workflow", workflow=ref("Node0")),
    },
    schemas={
        "VoiceSettings": obj(
            stability={"anyOf": [number(0, 1), NULL], "default": 0.5},
            speed={"anyOf": [NUMBER, NULL], "default": 1},
        ),
        "Locator": obj(
            "pronunciation_dictionary_id version_id",
            pronunciation_dictionary_id=TEXT,
            version_id=or_null(TEXT),
        ),
        "Speech": obj(
            "text",
            text=TEXT,
            voice_settings={"anyOf": [ref("VoiceSettings"), NULL]},
            pronunciation_dictionary_locators={
                "anyOf": [many(ref("Locator"), maxItems=3), NULL]
            },
            seed={"anyOf": [WHOLE, NULL]},
        ),
        **conditions(12),
    },
    others={"voice-changer": "multipart/form-data"},
    left_out={"elevenlabs/model/voice-changer": "multipart/form-data"},
    right={
        "text-to-speech": [
            {
                "text": "a",
                "pronunciation_dictionary_locators": [
                    {"pronunciation_dictionary_id": "a", "version_id": None}
                ],
            }
        ],
        "agent": [{"workflow": negated(12)}],
    },
    wrong={
        "text-to-speech": [
            (
                {
                    "text": "a",
                    "pronunciation_dictionary_locators": [
                        {"pronunciation_dictionary_id": "a"}
                    ],
                },
                "pronunciation_dictionary_locators[0].version_id",
            )
        ],
        "agent": [
            ({"workflow": {"type": "or"}}, "workflow.type"),
            ({"workflow": {"type": "not", "of": {"type": "both"}}}, "workflow.of.left"),
        ],
    },
)


APIS = (
    ELEVENLABS,
    FAL,
    HEDRA,
    LUMA,
    OPENAI,
    RECRAFT,
    RUNWAY,
    TOPAZ,
    XAI,
)
