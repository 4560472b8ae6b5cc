"""NudeNet finds a face, in one picture and in a batch."""

import json
import sys

from nudenet import NudeDetector

detector = NudeDetector()
picture = sys.argv[1]
print(json.dumps([detector.detect(picture), detector.detect_batch([picture, picture])]))
