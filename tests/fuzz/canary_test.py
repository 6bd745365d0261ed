#!/usr/bin/env python3
"""The canary of the fuzzers: a printer that loses a letter must be found by replaying the corpus of quantities.

usage: canary_test.py REPLAY_OF_THE_BROKEN_ONE CORPUS_FOLDER
"""
import signal
import subprocess
import sys


def main():
    result = subprocess.run(sys.argv[1:], stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    if result.returncode != -signal.SIGABRT:
        print(f"the broken fuzzer ended with {result.returncode}, not with abort():\n{result.stderr}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
