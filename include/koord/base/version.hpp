// What the program was built from.
#pragma once

#include <string_view>

namespace koord {

struct BuildInfo {
  std::string_view major, minor;
  std::string_view version;  // "v0.1.0"
  std::string_view compiler;
  std::string_view platform;  // "linux/amd64"
};

const BuildInfo& build_info();

}  // namespace koord
