// Golden tables: tests/golden/*.tsv, one row a line, cells between tabs, '#' comments.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace koord::test {

/// The path of a checked-in golden file: under KOORD_GOLDEN, or under tests/golden of the folder where the
/// test runs or of one above it.
inline std::string golden(const std::string& name) {
  if (const char* folder = std::getenv("KOORD_GOLDEN"); folder != nullptr)
    return std::string(folder) + "/" + name;
  for (auto at = std::filesystem::current_path();; at = at.parent_path()) {
    if (std::filesystem::exists(at / "tests/golden" / name)) return at / "tests/golden" / name;
    if (at == at.root_path())
      throw std::runtime_error("no tests/golden/" + name + " above the current folder");
  }
}

/// The parts between the marks; one empty part of an empty text.
inline std::vector<std::string> split(const std::string& text, char mark) {
  std::vector<std::string> out;
  for (std::size_t from = 0;;) {
    const std::size_t at = text.find(mark, from);
    out.push_back(text.substr(from, at - from));
    if (at == std::string::npos) return out;
    from = at + 1;
  }
}

inline std::vector<std::vector<std::string>> read_tsv(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    rows.push_back(split(line, '\t'));
  }
  return rows;
}

}  // namespace koord::test
