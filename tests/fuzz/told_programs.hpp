// Programs of vendors whose answers a fuzzer's input has, one after another, with a line of two dashes
// between.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "koord/host/programs.hpp"

namespace koord::test {

struct ToldPrograms : host::Programs {
  explicit ToldPrograms(std::string_view text) : rest(text) {}
  Task<Result<std::string>> ask(std::string_view, std::vector<std::string>) override {
    constexpr std::string_view kBetween = "\n--\n";
    if (rest.empty()) co_return Error(Code::io, "no more");
    const std::size_t end = std::min(rest.find(kBetween), rest.size());
    std::string said(rest.substr(0, end));
    rest.remove_prefix(std::min(end + kBetween.size(), rest.size()));
    co_return said;
  }
  std::string_view rest;
};

}  // namespace koord::test
