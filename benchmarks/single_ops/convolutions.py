"""Convolutions: of pictures and maps, in groups, depthwise, with few filters, of sounds and volumes, and two in a row."""

from __future__ import annotations

from single_ops.case import Case, floats, node, number
from single_ops.layer import convolution

_FIRST = [
    convolution((3, 224, 224), 32, (3, 3), stride=2),
    convolution((3, 224, 224), 64, (7, 7), stride=2),
    convolution((3, 320, 320), 32, (3, 3), stride=2),
    convolution((1, 172, 264), 12, (5, 5)),
]

_MAPS = [
    convolution((64, 56, 56), 64, (3, 3)),
    convolution((128, 28, 28), 128, (3, 3)),
    convolution((512, 7, 7), 512, (3, 3)),
    convolution((256, 6, 6), 256, (3, 3)),
    convolution((16, 80, 80), 16, (3, 3)),
    convolution((32, 56, 56), 32, (3, 3)),
    convolution((64, 56, 56), 128, (3, 3), stride=2),
    convolution((64, 56, 56), 64, (1, 1)),
    convolution((512, 14, 14), 512, (1, 1)),
    convolution((64, 56, 56), 64, (3, 3), dilation=2),
    convolution((256, 28, 28), 256, (3, 3), dilation=4),
    convolution((128, 17, 17), 128, (1, 7)),
    convolution((128, 17, 17), 128, (7, 1)),
    convolution((32, 80, 80), 32, (1, 3)),
    convolution((32, 112, 112), 64, (3, 3), stride=2, pads=(0, 0, 1, 1)),
]

_GROUPS_OF_MAPS = [  # groups, channels and filters of each, size
    (32, 2, 2, 56),
    (16, 2, 4, 56),
    (64, 2, 2, 28),
    (8, 2, 8, 56),
    (32, 4, 4, 56),
    (32, 4, 4, 28),
    (64, 4, 4, 28),
    (40, 6, 6, 28),
    (32, 8, 8, 28),
    (32, 8, 8, 14),
    (8, 8, 8, 56),
    (3, 10, 10, 56),
    (2, 12, 24, 56),
    (32, 16, 16, 14),
    (16, 16, 16, 28),
    (4, 16, 16, 56),
    (4, 32, 32, 28),
    (2, 64, 64, 28),
]

_GROUPS = [
    *(convolution((g * c, size, size), g * m, (3, 3), groups=g) for g, c, m, size in _GROUPS_OF_MAPS),
    convolution((128, 56, 56), 128, (3, 3), stride=2, groups=32),
    convolution((256, 28, 28), 256, (3, 3), stride=2, groups=32),
    convolution((120, 28, 28), 120, (1, 1), groups=3),
    convolution((128, 28, 28), 128, (1, 1), groups=8),
    convolution((256, 200), 256, (129,), groups=16),
    convolution((32, 4000), 32, (41,), stride=4, groups=4),
    convolution((32, 8, 28, 28), 32, (3, 3, 3), groups=8),
]

_DEPTHWISE = [
    convolution((64, 112, 112), 64, (3, 3), groups=64),
    convolution((144, 56, 56), 144, (3, 3), stride=2, groups=144),
    convolution((72, 28, 28), 72, (5, 5), groups=72),
    convolution((512, 14, 14), 512, (3, 3), groups=512),
    convolution((96, 56, 56), 96, (7, 7), groups=96),
    convolution((256, 33, 33), 256, (3, 3), dilation=6, groups=256),
    convolution((64, 56, 56), 128, (3, 3), groups=64),
    convolution((256, 400), 256, (31,), groups=256),
    convolution((64, 8, 28, 28), 64, (3, 3, 3), groups=64),
]

_FEW_FILTERS = [
    *(convolution((16, 160, 160), filters, (3, 3)) for filters in (1, 2, 4, 6, 8)),
    *(convolution((32, 160, 160), filters, (1, 1)) for filters in (1, 2, 4, 6, 8)),
    convolution((32, 160, 160), 3, (3, 3)),
    convolution((64, 160, 160), 1, (1, 1)),
    convolution((64, 134, 134), 3, (7, 7), pads=0),
    convolution((32, 128, 128), 3, (9, 9)),
    convolution((8, 172, 264), 8, (3, 3)),
    convolution((8, 172, 264), 8, (3, 39)),
    convolution((8, 172, 264), 1, (5, 5)),
    convolution((32, 172, 88), 1, (7, 3)),
]

_SOUNDS = [
    convolution((256, 1000), 256, (3,)),
    convolution((64, 4000), 64, (3,), dilation=8),
    convolution((64, 2000), 64, (5,)),
    convolution((80, 3000), 384, (3,)),
    convolution((32, 16000), 1, (7,)),
    convolution((1, 16000), 16, (7,)),
    convolution((1, 16000), 512, (10,), stride=5, pads=0),
    convolution((1, 44100), 130, (256,), stride=128, pads=0),
    convolution((1, 1, 44100), 1, (1, 256), stride=(1, 2), pads=0),
]

_VOLUMES = [
    convolution((16, 8, 28, 28), 32, (3, 3, 3)),
    convolution((32, 16, 28, 28), 32, (3, 3, 3)),
    convolution((3, 16, 56, 56), 64, (3, 5, 5)),
    convolution((32, 8, 28, 28), 32, (1, 3, 3)),
    convolution((32, 8, 28, 28), 32, (3, 1, 1)),
]

_PAIRS = [
    Case(
        "1x1 then depthwise 16x112x112 to 96, stride 2",
        [
            node("Conv", "x, wide", "a"),
            node("Clip", "a, zero, six", "b"),
            node("Conv", "b, taps", "c", group=96, pads=[1] * 4, strides=[2, 2]),
            node("Clip", "c, zero, six"),
        ],
        {"x": floats(1, 16, 112, 112)},
        {
            "wide": floats(96, 16, 1, 1, scale=0.1),
            "taps": floats(96, 1, 3, 3, scale=0.1),
            "zero": number(0),
            "six": number(6),
        },
    ),
]

CASES = [*_FIRST, *_MAPS, *_GROUPS, *_DEPTHWISE, *_FEW_FILTERS, *_SOUNDS, *_VOLUMES, *_PAIRS]
