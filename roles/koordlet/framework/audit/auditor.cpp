// Events as JSON lines, in memory for GET /events and to the file.
#include "framework/audit/auditor.hpp"

#include <fmt/format.h>

#include <sys/random.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <deque>
#include <list>
#include <utility>

#include "koord/base/audit_file.hpp"
#include "koord/base/text.hpp"
#include "koord/host/text.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::koordlet {
namespace {

constexpr std::string_view kFirstKey = "{\"createdAt\":\"";
constexpr std::size_t kMaxText = 4096;  // of one field
constexpr std::size_t kMegabyte = std::size_t{1} << 20;

std::string rfc3339(WallTime time) {
  const auto since = time.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  const std::time_t whole = seconds.count();
  std::tm parts{};
  gmtime_r(&whole, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%09dZ", static_cast<int>((since - seconds).count()));
  return std::string(text) + fraction;
}

std::string random_token() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return {};
  std::string token;
  for (const unsigned char byte : bytes) {
    char hex[4];
    std::snprintf(hex, sizeof hex, "%02x", byte);
    token += hex;
  }
  return token;
}

/// It goes into answers as it stands: half a line or a foreign one would spoil them.
bool is_event(std::string_view line) {
  if (!line.starts_with(kFirstKey) || !line.ends_with('}')) return false;
  return std::none_of(line.begin(), line.end(), [](unsigned char c) { return c < 0x20; }) &&
         json::parse(line).has_value();
}

}  // namespace

class Auditor::Impl {
 public:
  Impl(Options options, Clock& clock, Logger log)
      : options_(std::move(options)),
        clock_(clock),
        file_(
            {.folder = options_.log_dir,
             .max_file_bytes = options_.max_file_bytes,
             .max_total_bytes = static_cast<std::size_t>(std::max(options_.max_disk_space_mb, 2)) * kMegabyte,
             .max_waiting_bytes = options_.max_waiting_bytes},
            clock, std::move(log)) {
    for (std::string& line : file_.tail(options_.max_memory_bytes))
      if (is_event(line)) remember(std::move(line));
  }

  void record(int verbosity, const AuditEvent& event) {
    if (options_.verbosity > 0 && verbosity > options_.verbosity) return;
    std::string line;
    json::Writer json(line);
    const auto add = [&](std::string_view key, std::string_view text) {
      json.member_if(key, utf8_prefix(text, kMaxText));
    };
    json.begin_object();
    add("createdAt", rfc3339(clock_.now()));
    add("type", event.type);
    add("level", std::to_string(verbosity));
    add("namespace", event.ns);
    add("name", event.name);
    add("container", event.container);
    add("reason", event.reason);
    add("message", event.message);
    json.end_object();
    file_.append(line);
    remember(std::move(line));
  }

  Answer answer(std::string_view size, std::string_view page_token, bool json) {
    std::int64_t count = options_.default_events_limit;
    if (std::int64_t number = 0; host::to_number(size, number)) {
      if (number > options_.max_events_limit)
        return refusal(400, fmt::format("size({}) exceeds the limit({})", number, options_.max_events_limit));
      if (number < 0) return refusal(400, fmt::format("size({}) is negative", number));
      count = number;
    }
    const MonoTime now = clock_.mono();
    std::erase_if(readers_, [&](const Reader& reader) { return now - reader.used > options_.reader_ttl; });
    if (page_token.empty()) {
      readers_.push_back({random_token(), first_ + events_.size(), now});
      if (readers_.back().token.empty()) {
        readers_.pop_back();
        return refusal(500, "internal error");
      }
      if (std::cmp_greater(readers_.size(), std::max(options_.max_concurrent_readers, 1)))
        readers_.pop_front();
    }
    const auto reader = page_token.empty()
                            ? std::prev(readers_.end())
                            : std::find_if(readers_.begin(), readers_.end(), [&](const Reader& candidate) {
                                return candidate.token == page_token;
                              });
    if (reader == readers_.end())
      return refusal(409, fmt::format("invalid pageToken {}", page_token.substr(0, 64)));
    reader->used = now;

    Answer answer;
    json::Writer list(answer.body);
    const bool more = static_cast<std::int64_t>(reader->next - first_) >= count;
    const std::string token = more ? reader->token : std::string();
    if (json) list.begin_object().member("NextPageToken", token).key("Events").begin_array();
    for (std::int64_t given = 0; given < count && reader->next > first_; ++given) {
      const std::string& line = events_[--reader->next - first_];
      if (json)
        list.raw(line);
      else
        answer.body.append(line).push_back('\n');
    }
    if (json)
      list.end_array().end_object();
    else
      answer.next_page = token;
    answer.content_type = json ? "application/json; charset=utf-8" : "text/plain; charset=utf-8";
    return answer;
  }

  void flush() { file_.flush(); }
  std::uint64_t dropped() const { return file_.dropped(); }

 private:
  struct Reader {
    std::string token;
    std::uint64_t next = 0;  // one more than the number of the event that it gets next
    MonoTime used{};
  };

  static Answer refusal(int status, std::string why) {
    return {.status = status,
            .content_type = "text/plain; charset=utf-8",
            .next_page = {},
            .body = fmt::format("{}\n", why)};
  }

  void remember(std::string line) {
    bytes_ += line.size();
    events_.push_back(std::move(line));
    while (events_.size() > options_.max_memory_events || bytes_ > options_.max_memory_bytes) {
      bytes_ -= events_.front().size();
      events_.pop_front();
      ++first_;
    }
  }

  const Options options_;
  Clock& clock_;
  AuditFile file_;
  std::deque<std::string> events_;
  std::uint64_t first_ = 0;  // the number of events_[0]
  std::size_t bytes_ = 0;
  std::list<Reader> readers_;  // oldest first
};

Auditor::Auditor(Options options, Clock& clock, Logger log)
    : impl_(std::make_unique<Impl>(std::move(options), clock, std::move(log))) {}
Auditor::~Auditor() = default;
void Auditor::record(int verbosity, const AuditEvent& event) { impl_->record(verbosity, event); }
Auditor::Answer Auditor::answer(std::string_view size, std::string_view page_token, bool json) {
  return impl_->answer(size, page_token, json);
}
void Auditor::flush() { impl_->flush(); }
std::uint64_t Auditor::dropped() const { return impl_->dropped(); }

}  // namespace koord::koordlet
