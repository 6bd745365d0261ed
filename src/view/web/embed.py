"""Packs files (gzip, the same bytes each time) and prints them as a C++ header. usage: embed.py FILE..."""
import gzip
import hashlib
import os
import sys

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".svg": "image/svg+xml"}

print("// Made from the page's files: see embed.py.\n#pragma once\n\n#include <cstddef>\n#include <string_view>\n")
print("namespace koord::view {\n\nstruct PackedFile {\n  std::string_view name, type, digest;\n  const unsigned char* bytes;\n  std::size_t size;\n};\n")
rows = []
for place, path in enumerate(sys.argv[1:]):
    with open(path, "rb") as file:
        data = file.read()
    packed = gzip.compress(data, 9, mtime=0)
    print(f"inline constexpr unsigned char kFile{place}[] = {{")
    for at in range(0, len(packed), 20):
        print("".join(f"{byte}," for byte in packed[at:at + 20]))
    print("};")
    name = os.path.basename(path)
    kind = TYPES[os.path.splitext(name)[1]]
    rows.append(f'    {{"{name}", "{kind}", "{hashlib.sha256(data).hexdigest()[:16]}", kFile{place}, sizeof kFile{place}}},')
print("inline constexpr PackedFile kPackedFiles[] = {")
print("\n".join(rows))
print("};\n\n}  // namespace koord::view")
