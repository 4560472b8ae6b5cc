"""Runs a network by ncnn in float32 on one thread: MODEL (its path without .ncnn.param), INPUT.npy, RUNS, OUTPUT.npy.

Runs inside the emulator, in a Python that has nothing but numpy and ncnn.
"""

import sys

import ncnn
import numpy as np


def main() -> None:
    model, source, runs, target = sys.argv[1:]
    net = ncnn.Net()
    net.opt.num_threads = 1
    for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_packed", "use_bf16_storage"):
        setattr(net.opt, option, False)
    net.load_param(f"{model}.ncnn.param")
    net.load_model(f"{model}.ncnn.bin")
    x = np.load(source)
    for _ in range(int(runs)):
        extractor = net.create_extractor()
        extractor.input("in0", ncnn.Mat(x[0]).clone())
        y = np.array(extractor.extract("out0")[1])
    np.save(target, y)


if __name__ == "__main__":
    main()
