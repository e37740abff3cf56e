#!/usr/bin/env python3
"""Recomputes a draw from what `room.draw` shows after it: the number of an index, or of all of them.

    verify_draw.py COMMITMENT SEED SIZE FIRST_NUMBER [--value TEXT] [--index N]

Python's standard library alone. docs/draw.md says the same in words.
"""
import argparse
import hashlib
import hmac
import math
import sys

ROUNDS = 16


def places(seed: bytes, size: int, value: str):
    """index -> place, both from 1."""
    key = hmac.new(seed, size.to_bytes(8, "big") + value.encode(), hashlib.sha256).digest()
    columns = max(math.isqrt(size) + (math.isqrt(size) ** 2 < size), 1)
    rows = max(-(-size // columns), 1)

    def turn(at):
        left, right = at % columns, at // columns
        for n in range(1, ROUNDS + 1):
            modulus = columns if n % 2 else rows
            mac = hmac.new(key, bytes([n]) + right.to_bytes(8, "big"), hashlib.sha256).digest()
            left, right = right, (left + int.from_bytes(mac[:8], "big") % modulus) % modulus
        return columns * right + left

    def place(index):
        at = turn(index - 1)
        while at >= size:
            at = turn(at)
        return at + 1

    return place


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("commitment")
    args.add_argument("seed")
    args.add_argument("size", type=int)
    args.add_argument("first_number", type=int)
    args.add_argument("--value", default="")
    args.add_argument("--index", type=int)
    given = args.parse_args()
    seed = bytes.fromhex(given.seed)
    if hashlib.sha256(seed).hexdigest() != given.commitment.lower():
        sys.exit("the seed is not the one that was committed to before the room opened")
    place = places(seed, given.size, given.value)
    for index in [given.index] if given.index else range(1, given.size + 1):
        if not 1 <= index <= given.size:
            sys.exit(f"indices are 1 to {given.size}")
        print(index, given.first_number - 1 + place(index))


if __name__ == "__main__":
    main()
