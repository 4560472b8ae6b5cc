"""Transposed convolutions: windows side by side or overlapping, few filters, groups, sounds and volumes."""

from __future__ import annotations

from single_ops.layer import transposed

_SIDE_BY_SIDE = [
    transposed((64, 56, 56), 32, (2, 2), stride=2),
    transposed((128, 32, 32), 64, (2, 2), stride=2),
    transposed((24, 160, 160), 24, (2, 2), stride=2),
    transposed((24, 160, 160), 1, (2, 2), stride=2),
    transposed((100, 1, 1), 512, (4, 4), pads=0),
]

_OVERLAPPING = [
    transposed((64, 56, 56), 32, (3, 3), stride=2),
    transposed((64, 56, 56), 64, (3, 3)),
    transposed((256, 32, 32), 128, (3, 3), stride=2),
    transposed((128, 64, 64), 64, (3, 3), stride=2),
    transposed((64, 32, 32), 32, (5, 5), stride=2),
    transposed((64, 56, 56), 32, (4, 4), stride=2),
    transposed((128, 32, 32), 64, (4, 4), stride=2),
    transposed((512, 8, 8), 256, (4, 4), stride=2),
    transposed((21, 30, 30), 21, (16, 16), stride=8),
    transposed((32, 40, 40), 32, (3, 3), dilation=2),
]

_FEW_FILTERS = [
    transposed((64, 64, 64), 3, (4, 4), stride=2),
    transposed((32, 128, 128), 1, (4, 4), stride=2),
    transposed((56, 64, 64), 1, (9, 9), stride=4),
]

_GROUPS = [
    transposed((64, 40, 40), 64, (4, 4), stride=2, groups=4),
    transposed((64, 40, 40), 64, (4, 4), stride=2, groups=64),
    transposed((64, 40, 40), 64, (3, 3), groups=64),
    transposed((64, 40, 40), 64, (2, 2), stride=2, groups=64),
    transposed((128, 20, 20), 128, (4, 4), stride=2, groups=128),
    transposed((64, 2000), 64, (4,), stride=2, groups=64),
]

_SOUNDS = [
    transposed((256, 100), 128, (16,), stride=8),
    transposed((64, 3200), 32, (4,), stride=2),
    transposed((128, 640), 64, (11,), stride=5),
    transposed((130, 300), 1, (256,), stride=64, pads=0),
]

_VOLUMES = [
    transposed((32, 8, 16, 16), 16, (2, 2, 2), stride=2),
    transposed((32, 8, 16, 16), 16, (4, 4, 4), stride=2),
]

CASES = [*_SIDE_BY_SIDE, *_OVERLAPPING, *_FEW_FILTERS, *_GROUPS, *_SOUNDS, *_VOLUMES]
