"""Instructions per inference on 64-bit ARM, beside ncnn's, under an emulator: no ARM machine is needed."""
