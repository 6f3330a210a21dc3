#!/usr/bin/env python3
"""Writes scalars.json: plain YAML scalars, and what PyYAML's safe_load makes of each.

Run by hand, with PyYAML 6 installed: python3 make_scalars.py > scalars.json
"""

import datetime
import json

import yaml

PLAIN = """
~ null Null NULL nULL yes Yes YES yEs y Y no No NO
n N true True TRUE tRUE false False FALSE on On ON off Off OFF
0 -0 +0 1 -1 +1 12 007 -010 010 0o10 08 09 0b101 -0b1 0b2 0b_ 0x1F 0xff -0x_ 0x 0xG 1_000 1__0_ 0_ 0_7 _1 00
9223372036854775807 9223372036854775808 -9223372036854775809 123456789012345678901234567890
0xffffffffffffffffffffffff 07777777777777777777777777
1:30 1:60 1:59 190:20:30 -1:30 0:30 1:2:3 1:30.5 190:20:30.15 -1:30.25 0:0.5 1:60.5 1:5a 1_0:30 10:30:00 1:05
1.0 1. .5 -.5 +.5 0.1 0.01 0.001 0.0001 0.00001 0.000001
1.5 2.50 100.0 1e-5 1.0e-5 1.0e5 1.0e+5 1.e+3 1e5 1E5 1.5E-3
-1.0e+16 1.0e+15 1.0e+16 1.0e+22 123456789.123456789 0.1e-400 1.0e+400
-1.0e+400 1_0.5_0 ._5 .5_ .e+3 1.2.3 5e-324
4.9e-324 1.7976931348623157e+308 2.2250738585072014e-308 0.30000000000000004 3.14159
1.0_0 01.5 08.5 -0.0 +1.5 --1
123456789012345678.0 9007199254740993.0 1.0e-7 12345678901234567890.0 0.1000 1e+5 .1e-2 .1e2
.inf .Inf .INF .iNF -.inf +.inf inf .nan .NaN .NAN .Nan -.nan nan NaN
2024-01-02 2024-1-2 2024-01-02T03:04:05 2024-01-02t3:04:05 2024-01-02T03:04:05Z 2024-01-02T03:04:05.5
2024-01-02T03:04:05.1234567 2024-01-02T03:04:05+01:00
2024-01-02T03:04:05-5:30 2024-01-02T03:04:05+7 2024-1-2T3:04:05
2024-02-30 2023-02-29 2024-02-29 0000-01-01
2024-13-01 2024-01-02T24:00:00 2024-01-02T03:04 2024-01-02T03:04:05+24:00
2024-01-02T03:04:05-00:00 2024-01-02T03:04:05. 2024-01-02T03:04:05+00:30
20240102 2024-01 1999-12-31T23:59:59.999999Z
abc a-b 1a 1.5x v1 1.2.3.4 10.0.0.4 http://x azureml:env@latest ./src 2g 100%
$RANK = == << .hidden . .. + - -x +x _
PT5M 5s 1,000 1/2 1-2 e5 1e .0 0. 00.0 0.e0 0.0e+0
"""
SPACED = [
    "2024-01-02 03:04:05",
    "2024-01-02  3:04:05 Z",
    "2024-01-02 03:04:05 +01:00",
    "2024-01-02 03:04:05.25 -7",
    "1 000",
    "yes no",
    "hello world",
    "",
]


def kind_of(value):
    for kind, types in (
        ("null", type(None)),
        ("boolean", bool),
        ("integer", int),
        ("real", float),
        ("text", str),
        ("timestamp", (datetime.date, datetime.datetime)),
    ):
        if isinstance(value, types):
            return kind
    raise TypeError(value)


def row(scalar):
    try:
        value = yaml.safe_load("v: " + scalar)["v"]
    except Exception:  # whatever PyYAML or Python raises: the scalar is refused
        return [scalar, "error", ""]
    return [scalar, kind_of(value), "" if value is None else str(value)]


if __name__ == "__main__":
    skip = {"-", "=", "<<"}  # a list's dash; and two texts PyYAML cannot construct
    rows = [row(s) for s in PLAIN.split() + SPACED if s not in skip]
    print("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]")
