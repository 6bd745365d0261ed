// The audit: what an earlier process left in its file, and what a reader asks of /events. Whatever they are,
// the answer is whole JSON, and following the pages ends.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "framework/audit/auditor.hpp"
#include "koord/base/manual_clock.hpp"
#include "koord/json/value.hpp"
#include "scratch_folder.hpp"

using namespace koord;
using namespace koord::koordlet;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

class NoLog final : public LogSink {
 public:
  void write(LogLevel, std::string) override {}
};

/// The first line is the size asked for, the second the page token; the rest is the file.
std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::ScratchFolder kFolder;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view asked = take_line(text);
  const std::string_view token = take_line(text);
  kFolder.write("audit.log", text);
  ManualClock clock;
  NoLog sink;
  Auditor::Options options;
  options.log_dir = kFolder.path();
  Auditor auditor(options, clock, Logger(sink, clock));

  const Auditor::Answer foreign = auditor.answer(asked, token, true);
  check(foreign.status == 200 || foreign.status == 400 || foreign.status == 409);
  if (!token.empty()) check(foreign.status != 200);
  if (foreign.status == 200) check(json::parse(foreign.body).has_value());
  // Page by page: as many events as all at once.
  const auto all = json::parse(auditor.answer("2048", "", true).body);
  check(all.has_value());
  std::size_t seen = 0;
  std::string page;
  for (int pages = 0; pages < 10'000; ++pages) {
    const auto part = json::parse(auditor.answer("3", page, true).body);
    check(part.has_value());
    seen += json::find(*part, "Events")->size();
    page = json::text_at(*part, "NextPageToken");
    if (page.empty()) break;
  }
  check(page.empty() && seen >= json::find(*all, "Events")->size());
  return 0;
}
