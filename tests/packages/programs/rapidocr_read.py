"""RapidOCR reads a page: three models, sizes that change from line to line."""

import json
import sys

from rapidocr_onnxruntime import RapidOCR

lines, _ = RapidOCR()(sys.argv[1])
print(json.dumps(lines))
