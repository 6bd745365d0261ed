#include "reflector_state.hpp"

#include <charconv>

namespace koord::kube {

namespace {

// A watch that ends in order at once and without an event must not become a busy loop.
constexpr auto kShortestWatch = std::chrono::seconds(1);
// The same bytes come again after a resume; a list may get past what the watch cannot.
constexpr int kUnreadableBeforeRelist = 3;

}  // namespace

ReflectorState::ReflectorState(ReflectorOptions options)
    : options_(options),
      pace_(options.backoff_first, options.backoff_max, options.backoff_forget, options.seed),
      pace_unreachable_(options.backoff_first, options.backoff_max_unreachable, options.backoff_forget,
                        options.seed),
      random_(options.seed),
      watch_list_(options.watch_list) {
  if (options.resume_at.empty()) return;
  phase_ = Phase::watch;
  version_ = not_older_than_ = std::move(options.resume_at);
}

ReflectorState::Action ReflectorState::next(MonoTime now) {
  if (now < not_before_) return Wait{not_before_};
  if (phase_ == Phase::initial_events) phase_ = Phase::replace;
  if (phase_ == Phase::replace && !watch_list_) {
    phase_ = Phase::list;
    continue_token_.clear();
    list_version_.clear();
  }
  if (phase_ == Phase::list)
    return List{continue_token_, whole_list_ ? 0 : options_.page_limit, continue_token_.empty()};

  const bool initial = phase_ == Phase::replace;
  if (initial) phase_ = Phase::initial_events;
  const std::chrono::seconds length(std::uniform_int_distribution<std::int64_t>(
      options_.watch_min.count(), options_.watch_max.count())(random_));
  started_ = last_event_ = now;
  watch_length_ = length;
  eventful_ = false;
  return Watch{initial ? not_older_than_ : version_, initial, length};
}

ReflectorState::Effect ReflectorState::on_page(std::string_view resource_version,
                                               std::string_view continue_token, MonoTime) {
  // All pages of a list show the version of the first; the server repeats it.
  list_version_ = resource_version;
  continue_token_ = continue_token;
  undefined_since_.reset();
  if (!continue_token_.empty()) return Effect::none;
  version_ = not_older_than_ = list_version_;
  whole_list_ = false;
  return whole();
}

ReflectorState::Effect ReflectorState::on_event(WatchEventType type, std::string_view resource_version,
                                                bool initial_end, MonoTime now) {
  last_event_ = now;
  eventful_ = true;
  undefined_since_.reset();
  if (phase_ == Phase::initial_events) {
    if (type != WatchEventType::bookmark) return Effect::apply;
    if (!initial_end) return Effect::none;
    version_ = not_older_than_ = resource_version;
    return whole();
  }
  // Versions of one stream only grow, so an older one repeats what the store has seen.
  if (older(resource_version, version_)) return Effect::none;
  unreadable_ = 0;
  version_ = not_older_than_ = resource_version;
  if (type == WatchEventType::bookmark) return Effect::none;
  last_change_ = version_;
  return Effect::apply;
}

ReflectorState::Effect ReflectorState::whole() {
  synced_ = true;
  empty_told_ = false;
  unreadable_ = 0;
  phase_ = Phase::watch;
  return Effect::complete;
}

ReflectorState::Effect ReflectorState::on_error(const Error& error, MonoTime now) {
  if (options_.may_be_undefined && error.code() == Code::not_found) {
    fail(error, now);
    return on_undefined(now);
  }
  undefined_since_.reset();
  if (refuses_watch_list(error)) {
    watch_list_ = false;
    restart_replace();
    return Effect::none;
  }
  // "Too large resource version": the server was restored from a backup.
  if (phase_ == Phase::initial_events && error.code() == Code::timeout) not_older_than_.clear();
  fail(error, now);
  return Effect::none;
}

bool ReflectorState::refuses_watch_list(const Error& error) const {
  if (phase_ != Phase::initial_events) return false;
  const Code code = error.code();
  return code == Code::bad_request || code == Code::invalid || code == Code::unsupported;
}

ReflectorState::Effect ReflectorState::on_undefined(MonoTime now) {
  // A definition that comes again has other objects, whatever their versions.
  restart_replace();
  if (!undefined_since_) undefined_since_ = now;
  if (empty_told_ || (synced_ && now - *undefined_since_ < options_.undefined_patience)) return Effect::none;
  empty_told_ = synced_ = true;
  version_.clear();
  return Effect::empty;
}

void ReflectorState::fail(const Error& error, MonoTime now) {
  if (error.code() == Code::gone) {
    if (phase_ == Phase::list && !continue_token_.empty()) whole_list_ = true;
    restart_replace();
  } else if (error.code() == Code::parse && ++unreadable_ >= kUnreadableBeforeRelist) {
    unreadable_ = 0;
    restart_replace();
  } else if (phase_ == Phase::list && !retriable(error.code())) {
    // The token may be what the server dislikes.
    restart_replace();
  }
  const bool unreachable = error.code() == Code::unavailable || error.code() == Code::io;
  nanoseconds wait = (unreachable ? pace_unreachable_ : pace_).failed(now);
  if (error.retry_after()) wait += *error.retry_after();
  not_before_ = now + wait;
}

void ReflectorState::restart_replace() {
  phase_ = Phase::replace;
  not_older_than_.clear();
  continue_token_.clear();
}

void ReflectorState::on_watch_end(MonoTime now) {
  if (!eventful_ && now - started_ < kShortestWatch)
    fail(Error(Code::unavailable, "the server ended the watch at once"), now);
}

std::optional<MonoTime> ReflectorState::deadline() const {
  if (phase_ != Phase::initial_events && phase_ != Phase::watch) return std::nullopt;
  const MonoTime end = started_ + watch_length_ + options_.watch_grace;
  return phase_ == Phase::initial_events ? std::min(end, last_event_ + options_.initial_patience) : end;
}

void ReflectorState::on_deadline(MonoTime now) {
  if (phase_ == Phase::initial_events && now >= last_event_ + options_.initial_patience) {
    watch_list_ = false;
    restart_replace();
    return;
  }
  fail(Error(Code::timeout, "the watch fell silent"), now);
}

bool ReflectorState::older(std::string_view a, std::string_view b) {
  // Kubernetes 1.35 promises that versions are decimal numbers that can be compared; for anything else
  // nothing is known, so nothing is dropped.
  std::uint64_t x = 0, y = 0;
  const auto read = [](std::string_view text, std::uint64_t& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size();
  };
  return read(a, x) && read(b, y) && x < y;
}

}  // namespace koord::kube
