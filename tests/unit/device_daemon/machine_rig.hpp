// A machine of text files, and vendors' tools that say what a test tells them to.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string>
#include <vector>

#include "support/pci_tree.hpp"
#include "support/run_task.hpp"
#include "support/tree.hpp"
#include "vendors/vendor.hpp"

namespace koord::device_daemon::testing {

struct FakeTools final : Programs {
  /// By the whole command: "npu-smi info -l". What is not here fails as a tool does that knows no such
  /// option.
  std::map<std::string, std::string> says;
  std::vector<std::string> asked;

  Task<Result<std::string>> ask(std::string_view program, std::vector<std::string> arguments) override {
    const std::string line = fmt::format("{} {}", program, fmt::join(arguments, " "));
    asked.push_back(line);
    const auto found = says.find(line);
    if (found == says.end()) co_return Error(Code::io, fmt::format("{}: exit status 1: bad usage", program));
    co_return found->second;
  }
};

struct Rig {
  Rig() { tree.write("sys/bus/pci/devices/", ""); }

  /// As sysfs has one: a link to where it is on the board.
  void card(const std::string& bus, std::string_view vendor, std::string_view product, int node = 0,
            const std::string& root = "pci0000:3a") {
    koord::testing::pci_card(tree, bus, vendor, product, node, root);
  }
  Machine machine() { return {tools, tree.path(), tree / "sys/"}; }
  Result<Found> look(std::string_view vendor) {
    const Machine here = machine();
    for (const Vendor& one : all_vendors())
      if (one.name == vendor) return test::run_task(loop, one.look(here));
    return Error(Code::not_found, "no such vendor");
  }

  koord::testing::Tree tree;
  FakeTools tools;
  test::Loop loop;
};

}  // namespace koord::device_daemon::testing
