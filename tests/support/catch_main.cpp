// Catch's main, compiled once for all test executables.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <cstdio>

#include "support/needs.hpp"

namespace {
constexpr int kSkipped = 77;  // what meson counts as skipped
}

int main(int argc, char** argv) {
  if (const char* missing = missing_need(); missing != nullptr) {
    std::fprintf(stderr, "skipped: %s\n", missing);
    return kSkipped;
  }
  return Catch::Session().run(argc, argv);
}
