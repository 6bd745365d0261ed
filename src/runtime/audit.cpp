// Audit: the store, its file, and its page. See audit.hpp.
#include "koord/runtime/audit.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>

#include "audit_query.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/async/event.hpp"
#include "koord/async/timer.hpp"

namespace koord::runtime {

KOORD_SCHEMA(AuditPage, ROW(records).always().doc("The newest first."),
             ROW(continue_).wire("continue").doc("For ?continue=, of the next page; absent: that was all."),
             ROW(lost).doc("Lines that never came to the file."));

namespace {

constexpr std::array<std::string_view, 5> kNoModifications = {
    "leases.coordination.k8s.io", "events", "events.events.k8s.io", "tokenreviews.authentication.k8s.io",
    "subjectaccessreviews.authorization.k8s.io"};

/// Of one process: eight digits that another one has not.
std::string process_id() {
  std::uint32_t number = 0;
  (void)!getrandom(&number, sizeof number, 0);
  return fmt::format("{:08x}", number);
}

std::string_view result_of(kube::WriteLog::Outcome outcome, const Error* error) {
  using Outcome = kube::WriteLog::Outcome;
  switch (outcome) {
    case Outcome::done: return AuditRecord::kDone;
    case Outcome::not_sent: return AuditRecord::kNotSent;
    case Outcome::unknown: return AuditRecord::kUnknown;
    case Outcome::refused: break;
  }
  const bool conflict =
      error != nullptr && (error->code() == Code::conflict || error->code() == Code::already_exists);
  return conflict ? AuditRecord::kConflict : AuditRecord::kRefused;
}

Error out_of_range(std::string_view flag, std::int64_t value, std::int64_t least, std::int64_t most) {
  return Error(Code::invalid, fmt::format("--{}: {} is not between {} and {}", flag, value, least, most));
}

}  // namespace

Result<std::unique_ptr<Audit>> Audit::make(asio::any_io_executor executor, Clock& clock, const Logger& log,
                                           const FlagValues& flags) {
  Options options;
  options.folder = flags.get("audit-log-dir");
  const std::int64_t disk = flags.get_int("audit-max-disk-space-mb"),
                     page = flags.get_int("audit-max-events-limit");
  constexpr std::int64_t kMostDisk = std::int64_t{1} << 20, kMostPage = 10'000;
  if (disk < 4 || disk > kMostDisk) return out_of_range("audit-max-disk-space-mb", disk, 4, kMostDisk);
  if (page < 1 || page > kMostPage) return out_of_range("audit-max-events-limit", page, 1, kMostPage);
  options.max_disk_bytes = static_cast<std::size_t>(disk) << 20;
  options.max_page = static_cast<std::size_t>(page);
  auto made = make(std::move(executor), clock, log, std::move(options));
  if (!made) return std::move(made).error().context("--audit-log-dir");
  return made;
}

Result<std::unique_ptr<Audit>> Audit::make(asio::any_io_executor executor, Clock& clock, const Logger& log,
                                           Options options) {
  std::unique_ptr<Audit> made(new Audit(std::move(executor), clock, log, std::move(options)));
  if (made->file_) {
    KOORD_CHECK(made->file_->open());
    made->read_back();
  }
  return made;
}

Audit::Audit(asio::any_io_executor executor, Clock& clock, const Logger& log, Options options)
    : executor_(std::move(executor)),
      clock_(clock),
      log_(log),
      options_(std::move(options)),
      process_(process_id()) {
  if (options_.folder.empty()) return;
  file_ = std::make_unique<AuditFile>(
      AuditFile::Options{.folder = options_.folder,
                         .max_file_bytes = std::min(options_.max_disk_bytes / 2, std::size_t{8} << 20),
                         .max_total_bytes = options_.max_disk_bytes,
                         .max_waiting_bytes = std::size_t{1} << 20},
      clock, log);
}

Audit::~Audit() = default;

/// What an earlier process has left; the second line of a modification takes the place of the first.
void Audit::read_back() {
  std::map<std::string, std::uint64_t, std::less<>> seen;
  for (const std::string& line : file_->tail(options_.max_bytes)) {
    auto record = api::decode<AuditRecord>(line);
    if (!record || record->id.empty()) continue;
    record->bound();
    const auto it = seen.find(record->id);
    if (it != seen.end() && it->second >= first_) {
      entries_[it->second - first_].record = std::move(*record);
      continue;
    }
    const std::string id = record->id;
    seen[id] = remember(std::move(*record));
  }
  for (Entry& entry : entries_)
    if (entry.record.result.empty()) {
      entry.record.result = AuditRecord::kUnknown;
      entry.record.message = "the process ended before it heard";
    }
}

std::uint64_t Audit::remember(AuditRecord record) {
  const std::size_t bytes = record.bytes();
  bytes_ += bytes;
  entries_.push_back({std::move(record), bytes});
  const std::uint64_t number = first_ + entries_.size() - 1;
  while (entries_.size() > options_.max_records || bytes_ > options_.max_bytes) {
    bytes_ -= entries_.front().bytes;
    entries_.pop_front();
    ++first_;
  }
  return number;
}

Task<Result<>> Audit::write_down(std::string line) {
  struct Waiting {
    Event over;
    bool written = false;
  };
  auto waiting = std::make_shared<Waiting>();
  file_->append(std::move(line), [executor = executor_, waiting](bool written) {
    asio::post(executor, [waiting, written] {
      waiting->written = written;
      waiting->over.set();
    });
  });
  const Result<> told = co_await with_timeout(clock_, options_.patience, waiting->over.wait());
  if (!told && told.error().code() == Code::cancelled) co_return told;
  if (!told || !waiting->written)
    co_return Error(Code::unavailable,
                    fmt::format("nothing is modified without a record, and {}/audit.log {}", options_.folder,
                                told ? "cannot be written" : "does not answer"));
  co_return Result<>();
}

Task<Result<std::uint64_t>> Audit::begin(const net::Request& request, const kube::Initiator* by) {
  AuditRecord record = record_of(request, by);
  if (std::ranges::find(kNoModifications, record.resource) != kNoModifications.end())
    co_return std::uint64_t{0};
  record.time = api::MicroTime(clock_.now());
  record.bound();
  const std::uint64_t number = first_ + entries_.size();
  record.id = fmt::format("{}-{}", process_, number);
  (void)remember(record);
  std::string line = file_ ? api::encode(record) : std::string();
  begun_.insert_or_assign(number, Begun{std::move(record), clock_.mono()});
  if (!file_) co_return number;
  const Result<> written = co_await write_down(std::move(line));
  if (!written) {
    const Error error = written.error();
    end(number, Outcome::not_sent, &error);
    co_return error;
  }
  co_return number;
}

void Audit::end(std::uint64_t number, Outcome outcome, const Error* error) {
  const auto it = begun_.find(number);
  if (it == begun_.end()) return;
  AuditRecord record = std::move(it->second.record);
  record.took = api::Duration(clock_.mono() - it->second.at);
  begun_.erase(it);
  record.result = result_of(outcome, error);
  if (error != nullptr) {
    record.error = to_string(error->code());
    record.message = error->message();
  }
  record.bound();
  if (file_) file_->append(api::encode(record));
  if (number < first_) return;
  Entry& entry = entries_[number - first_];
  bytes_ -= entry.bytes;
  entry.bytes = record.bytes();
  bytes_ += entry.bytes;
  entry.record = std::move(record);
}

void Audit::note(AuditRecord record) {
  record.time = api::MicroTime(clock_.now());
  record.id = fmt::format("{}-{}", process_, first_ + entries_.size());
  record.bound();
  if (file_) file_->append(api::encode(record));
  (void)remember(std::move(record));
}

net::Response Audit::answer(const net::Request& request) const {
  if (request.method != "GET" && request.method != "HEAD")
    return net::Response::text(405, "only GET is answered\n");
  const auto query = AuditQuery::parse(request, options_.default_page, options_.max_page, clock_.now());
  if (!query) return net::Response::text(400, fmt::format("{}\n", query.error().message()));
  AuditPage page;
  page.lost = file_ ? static_cast<std::int64_t>(file_->dropped()) : 0;
  std::uint64_t next = first_ + entries_.size();
  if (query->before > 0) next = std::min(next, query->before);
  std::size_t bytes = 0;
  while (next > first_) {
    const AuditRecord& record = entries_[next - 1 - first_].record;
    if (query->wants(record)) {
      const std::size_t more = record.bytes();
      if (page.records.size() >= query->limit || (bytes > 0 && bytes + more > options_.max_page_bytes)) {
        page.continue_ = std::to_string(next);
        break;
      }
      bytes += more;
      page.records.push_back(record);
    }
    --next;
  }
  return net::Response::json(200, api::encode(page));
}

void Audit::flush() {
  if (file_) file_->flush();
}

}  // namespace koord::runtime
