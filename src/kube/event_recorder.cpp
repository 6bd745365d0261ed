#include "koord/kube/event_recorder.hpp"

#include <charconv>
#include <deque>

#include "event_memory.hpp"
#include "event_text.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/api/types/events_v1/event.hpp"
#include "koord/async/timer.hpp"
#include "koord/kube/client.hpp"
#include "retry_pace.hpp"

namespace koord::kube {

namespace {

constexpr int kTries = 12;  // client-go's
// A series' patch may overtake the event that it belongs to.
constexpr int kTriesMissing = 3;
constexpr auto kSweep = std::chrono::minutes(1);

void append(std::string& key, std::string_view part) {
  key += part;
  key += '\n';
}

std::string key_of(const EventObject& object) {
  std::string key;
  append(key, object.kind);
  append(key, object.ns);
  append(key, object.name);
  append(key, object.uid);
  return key;
}

}  // namespace

EventObject event_object(const ObjectType& type, const void* object) {
  const api::Kind& kind = api::kind_of(type.schema());
  const api::ObjectMeta& meta = type.meta(object);
  return {kind.group, kind.version,         kind.kind, meta.namespace_.view(), meta.name,
          meta.uid,   meta.resource_version};
}

class EventRecorder::Impl {
 public:
  Impl(asio::any_io_executor executor, Client& client, Clock& clock, EventRecorderConfig config)
      : client_(client),
        clock_(clock),
        config_(std::move(config)),
        template_(config_.controller, config_.instance),
        limiter_(config_.burst, config_.refill, config_.memory_limit),
        series_(config_.series_window, config_.series_refresh, config_.memory_limit),
        group_(std::move(executor), log_failures(config_.log)) {}
  ~Impl() { clock_.cancel(sweep_); }

  void record(const EventRecord& event) {
    if (stopping_) return;
    ++counts_.recorded;
    const std::string_view ns = event.regarding.ns.empty() ? "default" : event.regarding.ns;
    const bool once = !event.name.empty();
    const std::string name = once ? std::string(event.name) : new_name(event.regarding.name);
    if (event.repeats && !once && absorbed(event, ns, name)) return;
    push({std::string(ns), name, true, EventTemplate::rest(event, ns, name, clock_.now()), once});
  }

  Task<> stop(nanoseconds grace) {
    stopping_ = true;
    clock_.cancel(sweep_);
    sweep_ = 0;
    for (const EventSeriesMemory::Write& write : series_.due(MonoTime::max())) push(write);
    Task<Result<>> drained = group_.join();
    (void)co_await with_timeout(clock_, grace, std::move(drained));
    co_await group_.stop(clock_, nanoseconds::zero());
    counts_.dropped += queue_.size();
    queue_.clear();
  }

  const EventCounts& counts() const { return counts_; }
  std::size_t queued() const { return queue_.size(); }

 private:
  struct Item {
    std::string ns;
    std::string name;
    bool fresh;         // false: it is there, and to be patched
    std::string body;   // fresh: but for what all events begin with
    bool once = false;  // by its name: it may be there
  };

  /// True if there is nothing new to write.
  bool absorbed(const EventRecord& event, std::string_view ns, const std::string& name) {
    const std::string object = key_of(event.regarding);
    // With the note, so that a new text is a new event: a series keeps the text of its first.
    std::string key = object + key_of(event.related);
    append(key, event.type == EventType::warning ? "w" : "n");
    append(key, event.reason);
    append(key, event.action);
    append(key, event.note);
    EventSeriesMemory::Write write;
    const MonoTime now = clock_.mono();
    const auto answer = series_.seen(key, now, clock_.now(), write);
    if (answer == EventSeriesMemory::Answer::first) {
      if (!limiter_.allow(object, now)) {
        ++counts_.limited;
        return true;
      }
      series_.remember(std::move(key), ns, name, now, clock_.now());
      if (sweep_ == 0) arm_sweep();
      return false;
    }
    ++counts_.merged;
    if (answer == EventSeriesMemory::Answer::second) push(write);
    return true;
  }

  /// Upstream's form: the object's name and the time in hexadecimal; made unique within the process.
  std::string new_name(std::string_view object) {
    last_stamp_ = std::max<std::int64_t>(last_stamp_ + 1, clock_.now().time_since_epoch().count());
    char hex[16];
    const auto end = std::to_chars(hex, hex + sizeof(hex), last_stamp_, 16).ptr;
    std::string name(object);
    name += '.';
    name.append(hex, end);
    return name;
  }

  void push(const EventSeriesMemory::Write& write) {
    push({write.ns, write.name, false, EventTemplate::series(write.count, write.last)});
  }

  void push(Item item) {
    if (queue_.size() >= config_.queue_limit) {
      lost(queue_.front());
      queue_.pop_front();
      ++counts_.dropped;
    }
    queue_.push_back(std::move(item));
    if (senders_ < config_.connections && static_cast<std::size_t>(senders_) < queue_.size()) {
      ++senders_;
      group_.spawn("event sender", send());
    }
  }

  Task<> send() {
    while (!queue_.empty()) {
      Item item = std::move(queue_.front());
      queue_.pop_front();
      const bool done = co_await write(item);
      ++(done ? counts_.written : counts_.failed);
      if (!done) lost(item);
    }
    --senders_;
  }

  /// What repeats is written anew the next time: nobody is left without an event because one was lost, or
  /// was deleted while its series went on.
  void lost(const Item& item) { series_.forget(item.ns, item.name); }

  Task<bool> write(const Item& item) {
    RetryPace pace(std::chrono::milliseconds(500), std::chrono::seconds(10), std::chrono::hours(1),
                   config_.seed);
    for (int tries = 1;; ++tries) {
      const Result<std::string> answer = co_await request(item);
      if (answer) co_return true;
      const Code code = answer.error().code();
      if (code == Code::cancelled) co_return false;
      // The first try was stored though its answer was lost, or another process was first.
      if (code == Code::already_exists && (item.once || tries > 1)) co_return true;
      const bool missing = code == Code::not_found && !item.fresh && tries < kTriesMissing;
      if (!missing && (!retriable(code) || tries >= kTries)) {
        if (config_.log) config_.log->warn("an event is lost", kv("error", answer.error()));
        co_return false;
      }
      const Result<> slept = co_await sleep(clock_, pace.failed(clock_.mono()));
      if (!slept) co_return false;
    }
  }

  Task<Result<std::string>> request(const Item& item) {
    if (item.fresh) {
      std::string whole = template_.whole(item.body);
      co_return co_await client_.create_raw(api::kind<api::Event>(), item.ns, std::move(whole));
    }
    ObjectKey key{item.ns, item.name};
    PatchOptions options;
    co_return co_await client_.patch_raw(api::kind<api::Event>(), std::move(key), item.body,
                                         std::move(options));
  }

  void arm_sweep() {
    sweep_ = clock_.call_at(clock_.mono() + kSweep, [this] {
      sweep_ = 0;
      for (const EventSeriesMemory::Write& write : series_.due(clock_.mono())) push(write);
      if (!series_.empty()) arm_sweep();
    });
  }

  Client& client_;
  Clock& clock_;
  const EventRecorderConfig config_;
  EventTemplate template_;
  EventLimiter limiter_;
  EventSeriesMemory series_;
  std::deque<Item> queue_;
  EventCounts counts_;
  std::int64_t last_stamp_ = 0;
  int senders_ = 0;
  TimerId sweep_ = 0;
  bool stopping_ = false;
  TaskGroup group_;
};

EventRecorder::EventRecorder(asio::any_io_executor executor, Client& client, Clock& clock,
                             EventRecorderConfig config)
    : impl_(std::make_unique<Impl>(std::move(executor), client, clock, std::move(config))) {}
EventRecorder::~EventRecorder() = default;

void EventRecorder::record(const EventRecord& event) { impl_->record(event); }
Task<> EventRecorder::stop(nanoseconds grace) { return impl_->stop(grace); }
const EventCounts& EventRecorder::counts() const { return impl_->counts(); }
std::size_t EventRecorder::queued() const { return impl_->queued(); }

}  // namespace koord::kube
