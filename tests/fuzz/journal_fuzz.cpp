// The journal of throttled groups: a file is taken over whole or not at all, and what was taken over is saved
// and read again as the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "framework/qos/journal.hpp"
#include "scratch_folder.hpp"

using namespace koord;
using namespace koord::koordlet;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::ScratchFolder kFolder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Most inputs are of this boot, so that the entries are reached.
  const bool whole = size > 0 && data[0] == 'k';
  kFolder.write("throttled", whole ? std::string(text) : "koord-journal 1 boot\n" + std::string(text));
  Journal journal({.path = kFolder / "throttled", .boot_id = "boot"});
  const auto loaded = journal.load();
  if (!loaded) check(journal.entries().empty());
  for (const Journal::Entry& entry : journal.entries()) {
    check(journal.find(entry.knob, entry.group, entry.key) == &entry);
    check(entry.from >= 0 && entry.to >= entry.from && !(entry.group.empty() && entry.key.empty()));
  }
  // A change, so that it is written; "w" sorts anywhere.
  journal.note({.knob = host::Knob::cpu_quota,
                .group = "w",
                .from = 0,
                .to = 1,
                .free = std::int64_t{-1},
                .strategy = "s"});
  check(journal.save().has_value());
  Journal copy({.path = kFolder / "throttled", .boot_id = "boot"});
  check(copy.load().has_value() && copy.entries() == journal.entries());
  return 0;
}
