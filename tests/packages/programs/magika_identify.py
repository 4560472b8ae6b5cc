"""Magika tells what kind of content some bytes are."""

import json

from magika import Magika

CONTENTS = [
    b"#!/usr/bin/python\nimport os\nprint(os.name)\n" * 5,
    b"<html><body><p>text</p></body></html>" * 4,
    b'{"a": [1, 2, 3], "b": {"c": "d"}}' * 3,
    b"name,age\nada,36\nalan,41\n" * 20,
    bytes(range(256)) * 20,
]

magika = Magika()
answers = [magika.identify_bytes(content) for content in CONTENTS]
print(json.dumps([[str(answer.output.label), float(answer.score)] for answer in answers]))
