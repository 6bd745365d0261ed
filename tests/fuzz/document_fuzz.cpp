// Documents against the reader: both take the same texts (but for numbers beyond a double), what a document
// holds is what the events said, and printing and reading it again changes nothing.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "koord/json/reader.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace {

using namespace koord;

void check(bool good) {
  if (!good) std::abort();
}

/// Writes what it is told, by the writer, and counts.
class Copier final : public json::Events {
 public:
  bool on_null() override { return json_.null(), true; }
  bool on_bool(bool value) override { return json_.value(value), true; }
  bool on_number(std::string_view text) override { return json_.raw(text), true; }
  bool on_string(std::string_view value) override { return json_.value(value), true; }
  bool on_begin_object() override { return json_.begin_object(), true; }
  bool on_key(std::string_view key) override { return json_.key(key), true; }
  bool on_end_object() override { return json_.end_object(), true; }
  bool on_begin_array() override { return json_.begin_array(), true; }
  bool on_end_array() override { return json_.end_array(), true; }
  Error stop_error() override { return Error(Code::internal, "it never stops"); }

  std::string out;

 private:
  json::Writer json_{out};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Copier copier;
  const bool well_formed = json::read(text, copier).has_value();
  json::Document document;
  for (int i = 0; i < 2; ++i) {  // the second time in memory that was used
    const auto done = document.read(text);
    if (!done) {
      check(!well_formed || done.error().message().find("too large") != std::string::npos);
      check(document.is_null());
      return 0;
    }
  }
  check(well_formed && json::depth(document, json::kMaxDepth) <= json::kMaxDepth);
  const auto copied = json::parse(copier.out);
  check(copied.has_value() && *copied == document && json::compare(document, *copied) == 0);
  const std::string printed = json::to_text(document);
  const auto again = json::parse(printed);
  // By text: a whole double beyond 2^53 is printed in the fewest digits, as Go does, and read again as an
  // integer.
  check(again.has_value() && json::to_text(*again) == printed);
  const json::Document cloned = json::clone(document);
  check(cloned == document && json::to_text(cloned) == printed);
  return 0;
}
