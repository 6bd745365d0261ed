// Tree: a folder of files for one test, made from a table and removed at the end.
#pragma once

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>

#include <stdlib.h>

namespace koord::testing {

class Tree {
 public:
  Tree(std::initializer_list<std::pair<std::string, std::string>> files = {}) {
    std::string name = (std::filesystem::temp_directory_path() / "koord-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp " + name);
    path_ = name;
    for (const auto& [file, text] : files) write(file, text);
  }
  ~Tree() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& file) const { return path_ + "/" + file; }

  /// A name that ends in a slash makes a folder.
  void write(const std::string& file, const std::string& text) {
    const std::filesystem::path full = std::filesystem::path(path_) / file;
    if (file.ends_with('/')) {
      std::filesystem::create_directories(full);
      return;
    }
    std::filesystem::create_directories(full.parent_path());
    write_to(full, text);
  }
  static void write_to(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }
  void remove(const std::string& file) { std::filesystem::remove_all(std::filesystem::path(path_) / file); }

 private:
  std::string path_;
};

}  // namespace koord::testing
