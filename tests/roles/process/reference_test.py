#!/usr/bin/env python3
"""The reference that is checked in is the one that the program prints."""
import difflib
import os
import subprocess
import sys

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PATH = os.path.join(TREE, "packaging", "REFERENCE.md")

printed = subprocess.run([os.environ["KOORD"], "docs"], stdout=subprocess.PIPE, text=True, check=True).stdout
with open(PATH, encoding="utf-8") as file:
    kept = file.read()
if printed != kept:
    print("packaging/REFERENCE.md differs from what `koord docs` prints: build/koord docs >packaging/REFERENCE.md")
    sys.stdout.writelines(difflib.unified_diff(kept.splitlines(True), printed.splitlines(True), "kept", "printed"))
    sys.exit(1)
