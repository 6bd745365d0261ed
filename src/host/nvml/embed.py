"""Prints a file's bytes as a C++ header. usage: embed.py FILE"""
import sys

with open(sys.argv[1], "rb") as file:
    data = file.read()
print("// Made from the program that asks NVML: see embed.py.\n#pragma once\n")
print("namespace koord::host {\n\ninline constexpr unsigned char kNvmlProgram[] = {")
for at in range(0, len(data), 20):
    print("".join(f"{byte}," for byte in data[at:at + 20]))
print("};\n\n}  // namespace koord::host")
