#include "shared_informer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/lists/list_decoder.hpp"
#include "koord/api/lists/object_event.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/async/timer.hpp"
#include "koord/kube/client.hpp"

namespace koord::kube {

namespace {

// An object is at most a few MiB on the wire; a line beyond this is no watch event. A scheduler has eight
// informers, which may all be told such a line at once: beyond the second number the one fails that goes on
// with more than the third.
constexpr std::size_t kLongestLine = std::size_t{16} << 20, kLinesBudget = std::size_t{32} << 20,
                      kUsualLine = std::size_t{1} << 20;
/// A stream that breaks sooner was none.
constexpr nanoseconds kShortestStream = std::chrono::seconds(1);
/// The same failure of the same informer is logged again after so long.
constexpr nanoseconds kTellAgain = std::chrono::minutes(5);

WatchEventType event_type(api::WatchType type) {
  switch (type) {
    case api::WatchType::added: return WatchEventType::added;
    case api::WatchType::modified: return WatchEventType::modified;
    case api::WatchType::deleted: return WatchEventType::deleted;
    default: return WatchEventType::bookmark;
  }
}

/// Nobody installs these: a server is older than they are, or has them switched off.
bool comes_with_kubernetes(const api::Kind& kind) {
  return kind.group == "resource.k8s.io" || kind.group == "scheduling.k8s.io";
}

void forget_failures(InformerStatus& status) {
  status.failing_since.reset();
  status.forbidden_since.reset();
}

/// Every server has the core group; whether it has others depends on its version and on what is installed.
bool may_be_undefined(const api::Kind& kind) { return !kind.group.empty(); }

ReflectorOptions optional(ReflectorOptions options, const ObjectType& type) {
  options.may_be_undefined = may_be_undefined(api::kind_of(type.schema()));
  return options;
}

std::string describe(const ObjectType& type, const Scope& scope) {
  std::string name(api::kind_of(type.schema()).plural);
  if (!scope.ns.empty()) name += fmt::format(" in {}", scope.ns);
  if (!scope.fields.empty()) name += fmt::format(" [{}]", scope.fields);
  if (!scope.labels.empty()) name += fmt::format(" {{{}}}", scope.labels);
  return name;
}

}  // namespace

class SharedInformer::PageSink final : public api::ItemSink {
 public:
  explicit PageSink(SharedInformer& informer) : informer_(informer) {}
  void* begin_item() override {
    item_ = informer_.type_.make();
    return item_.get();
  }
  void end_item(const Error* error) override {
    if (error == nullptr) {
      informer_.put(std::move(item_));
    } else {
      informer_.skip(informer_.type_.meta(item_.get()), *error);
    }
  }

 private:
  SharedInformer& informer_;
  std::shared_ptr<void> item_;
};

SharedInformer::SharedInformer(const ObjectType& type, Client& client, Clock& clock, LongLines& lines,
                               Scope scope, ReflectorOptions options, const std::optional<Logger>& log)
    : type_(type),
      client_(client),
      clock_(clock),
      lines_(lines),
      scope_(std::move(scope)),
      state_(optional(options, type)),
      store_(type, [this](const Object& before, const Object& after) { tell(before, after); }) {
  status_.name = describe(type_, scope_);
  if (log) log_ = log->with({kv("informer", status_.name)});
}

SharedInformer::~SharedInformer() {
  for (Listener& listener : listeners_) listener.queue->on_detach(listener.source, {});
}

Task<Result<>> SharedInformer::run() {
  for (;;) {
    const ReflectorState::Action action = state_.next(clock_.mono());
    bool go_on = true;
    if (const auto* wait = std::get_if<ReflectorState::Wait>(&action)) {
      KOORD_CO_CHECK(co_await sleep_until(clock_, wait->until));
    } else if (const auto* page = std::get_if<ReflectorState::List>(&action)) {
      go_on = co_await list(*page);
    } else {
      go_on = co_await watch(std::get<ReflectorState::Watch>(action));
    }
    if (!go_on) co_return Error(Code::cancelled, status_.name);
  }
}

Task<bool> SharedInformer::list(ReflectorState::List list) {
  if (list.first) {
    ++status_.lists;
    begin_replace();
  }
  ListOptions options;
  options.ns = scope_.ns;
  options.label_selector = scope_.labels;
  options.field_selector = scope_.fields;
  options.limit = static_cast<std::uint32_t>(list.limit);
  options.continue_token = list.continue_token;
  const Result<std::string> body =
      co_await client_.list_raw(api::kind_of(type_.schema()), std::move(options));
  if (!body) {
    if (body.error().code() == Code::cancelled) co_return false;
    failed(body.error());
    co_return true;
  }
  PageSink sink(*this);
  const Result<api::ListMeta> page = api::decode_list(*body, type_.schema(), sink);
  if (!page)
    failed(page.error());
  else
    apply_effect(state_.on_page(page->resource_version, page->continue_, clock_.mono()));
  co_return true;
}

Task<bool> SharedInformer::watch(ReflectorState::Watch watch) {
  ++status_.watches;
  if (watch.initial_events) begin_replace();
  WatchOptions options;
  options.ns = scope_.ns;
  options.label_selector = scope_.labels;
  options.field_selector = scope_.fields;
  options.resource_version = watch.resource_version;
  options.send_initial_events = watch.initial_events;
  options.timeout = watch.timeout;
  Result<std::unique_ptr<net::Stream>> stream =
      co_await client_.watch(api::kind_of(type_.schema()), std::move(options));
  if (!stream) {
    if (stream.error().code() == Code::cancelled) co_return false;
    failed(stream.error());
    co_return true;
  }
  drop_partial();
  stream_over();
  if (!watch.initial_events) opened_ = clock_.mono();
  for (;;) {
    const nanoseconds left = *state_.deadline() - clock_.mono();
    if (left <= nanoseconds::zero()) {
      ++status_.failures;
      if (log_) log_->warn("a watch was silent for too long: it is started again");
      state_.on_deadline(clock_.mono());
      co_return true;
    }
    const Result<std::string_view> bytes = co_await (*stream)->read(left);
    if (!bytes) {
      if (bytes.error().code() == Code::cancelled) co_return false;
      // The state tells a silent watch from a broken one at the top of the loop.
      if (bytes.error().code() == Code::timeout && clock_.mono() >= *state_.deadline()) continue;
      failed(bytes.error());
      co_return true;
    }
    if (bytes->empty()) {
      if (partial_.empty())
        state_.on_watch_end(clock_.mono());
      else
        failed(Error(Code::unavailable, "the watch was cut within a line"));
      co_return true;
    }
    if (!take_lines(*bytes)) co_return true;
  }
}

bool SharedInformer::take_lines(std::string_view bytes) {
  for (;;) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      if (keep_partial(bytes)) return true;
      drop_partial();
      failed(Error(Code::parse, "a watch line of more than 16 MiB, or several that are nearly so long"));
      return false;
    }
    std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    bool go_on = false;
    if (partial_.empty()) {
      go_on = take_line(line);
    } else {
      (void)keep_partial(line);
      go_on = take_line(partial_);
      drop_partial();
    }
    if (!go_on) return false;
  }
}

bool SharedInformer::keep_partial(std::string_view bytes) {
  partial_ += bytes;
  lines_.bytes += bytes.size();
  return partial_.size() <= kLongestLine && (lines_.bytes <= kLinesBudget || partial_.size() <= kUsualLine);
}

void SharedInformer::drop_partial() {
  lines_.bytes -= partial_.size();
  if (partial_.capacity() > kUsualLine)
    partial_ = {};
  else
    partial_.clear();
}

bool SharedInformer::take_line(std::string_view line) {
  if (line.empty() || line == "\r") return true;
  std::shared_ptr<void> object = type_.make();
  const Result<api::ObjectEvent> event = api::decode_object_event(line, type_.schema(), object.get());
  if (!event) {
    failed(event.error());
    return false;
  }
  if (event->type == api::WatchType::error) {
    failed(event->error);
    return false;
  }
  const api::ObjectMeta& meta = type_.meta(object.get());
  if (event->malformed && (meta.name.empty() || meta.resource_version.empty())) {
    // Which object it is, and how far the server is with it, is not known.
    failed(*event->malformed);
    return false;
  }
  ++status_.events;
  recovered();
  const auto effect = state_.on_event(event_type(event->type), meta.resource_version,
                                      event->initial_events_end, clock_.mono());
  if (effect != ReflectorState::Effect::apply) {
    apply_effect(effect);
  } else if (event->type == api::WatchType::deleted) {
    remove({meta.namespace_.view(), meta.name});
  } else if (event->malformed) {
    skip(meta, *event->malformed);
  } else {
    put(std::move(object));
  }
  return true;
}

void SharedInformer::begin_replace() {
  ++replacement_;
  nameless_now_ = 0;
  store_.begin_replace();
}

void SharedInformer::end_replace() {
  std::erase_if(malformed_, [&](const auto& each) { return each.second != replacement_; });
  nameless_ = nameless_now_;
  store_.end_replace();
}

void SharedInformer::put(Object object) {
  if (!malformed_.empty()) {
    const api::ObjectMeta& meta = type_.meta(object.get());
    malformed_.erase({meta.namespace_.str(), meta.name});
  }
  store_.put(std::move(object));
}

void SharedInformer::remove(const KeyView& key) {
  if (!malformed_.empty()) malformed_.erase({std::string(key.ns), std::string(key.name)});
  store_.remove(key);
}

/// What protects something must not go because somebody has written nonsense into it, nor must what somebody
/// takes up become free: what was known of the object stays until it can be read again or is gone.
void SharedInformer::skip(const api::ObjectMeta& meta, const Error& error) {
  status_.last_error = error.message();
  if (meta.name.empty()) {
    ++nameless_now_;
    if (log_) log_->warn("a malformed object is ignored", kv("error", error));
    return;
  }
  const KeyView key{meta.namespace_.view(), meta.name};
  malformed_.insert_or_assign({std::string(key.ns), meta.name}, replacement_);
  const Object* const known = store_.find(key);
  const bool stays = known != nullptr && (meta.uid.empty() || type_.meta(known->get()).uid == meta.uid);
  if (stays) {
    store_.put(Object(*known));  // as if it had been told again, for a replacement that is under way
  } else if (known != nullptr) {
    store_.remove(key);  // another one has its name
  }
  if (log_)
    log_->warn(stays ? "a malformed object is ignored, what was known of it stays in effect"
                     : "a malformed object is ignored",
               kv("namespace", key.ns), kv("name", key.name), kv("version", meta.resource_version),
               kv("error", error));
}

void SharedInformer::apply_effect(ReflectorState::Effect effect) {
  if (effect == ReflectorState::Effect::complete) {
    recovered();
    undefined_ = false;
    listed_.set();
  } else if (effect == ReflectorState::Effect::empty) {
    begin_replace();  // what an unfinished one had is forgotten
  } else {
    return;
  }
  end_replace();
  if (log_) log_->v(2, "complete", kv("objects", store_.size()));
  synced_.set();
  for (Listener& listener : listeners_) listener.queue->source_synced(listener.source);
}

void SharedInformer::recovered() {
  status_.last_error.clear();
  forget_failures(status_);
  opened_.reset();
}

void SharedInformer::stream_over() {
  if (opened_ && clock_.mono() - *opened_ >= kShortestStream) forget_failures(status_);
  opened_.reset();
}

void SharedInformer::failed(const Error& error) {
  const MonoTime now = clock_.mono();
  stream_over();
  if (state_.refuses_watch_list(error)) {
    if (log_) log_->v(2, "listed, as the API server has no watch-lists", kv("error", error.message()));
    apply_effect(state_.on_error(error, now));
    return;
  }
  ++status_.failures;
  if (error.code() != Code::gone) {  // what is expired is listed anew, at once
    if (!status_.failing_since) status_.failing_since = now;
    status_.failure = error.code();
    if (error.code() != Code::forbidden)
      status_.forbidden_since.reset();
    else if (!status_.forbidden_since)
      status_.forbidden_since = now;
  }
  if (error.code() == Code::gone) ++status_.expired;
  undefined_ = error.code() == Code::not_found;
  std::string what = fmt::format("{}: {}", to_string(error.code()), error.message());
  if (undefined_) {
    const api::Kind& kind = api::kind_of(type_.schema());
    what = fmt::format("the API server has no {} in {}{}{} ({})", kind.kind, kind.api_version(),
                       may_be_undefined(kind) ? ", which counts as none" : "",
                       comes_with_kubernetes(kind) ? "" : ": is its definition installed?", error.message());
  } else if (error.code() == Code::forbidden) {
    what += ": grant the right to list and watch them (koord manifests roles prints what a role needs)";
  }
  // A server that is away for hours is told of once in a while, not with every try.
  const bool told = what == status_.last_error && now - told_ < kTellAgain;
  status_.last_error = std::move(what);
  // A resourceVersion that has grown too old is the server's way, not a failure.
  if (log_ && error.code() == Code::gone) {
    log_->v(2, "to be listed again", kv("error", status_.last_error));
  } else if (log_ && !told && undefined_ && comes_with_kubernetes(api::kind_of(type_.schema()))) {
    log_->info("not followed", kv("error", status_.last_error));
    told_ = now;
  } else if (log_ && !told) {
    log_->warn("not followed for now", kv("error", status_.last_error));
    told_ = now;
  }
  if (undefined_ && may_be_undefined(api::kind_of(type_.schema()))) forget_failures(status_);
  apply_effect(state_.on_error(error, now));
}

void SharedInformer::attach(DeliveryQueue& queue, DeliveryQueue::SourceId source, ScopeFilter filter) {
  const auto it = listeners_.insert(listeners_.end(), {&queue, source, std::move(filter)});
  queue.on_detach(source, [this, it] { listeners_.erase(it); });
  store_.for_each([&](const Object& object) {
    if (it->filter.matches(object.get())) queue.push(source, {}, object);
  });
  if (state_.synced()) queue.source_synced(source);
}

void SharedInformer::tell(const Object& before, const Object& after) {
  for (Listener& listener : listeners_) {
    const bool was = before && listener.filter.matches(before.get());
    const bool is = after && listener.filter.matches(after.get());
    if (was || is) listener.queue->push(listener.source, was ? before : Object(), is ? after : Object());
  }
}

InformerStatus SharedInformer::status() const {
  InformerStatus status = status_;
  if (opened_ && clock_.mono() - *opened_ >= kShortestStream) forget_failures(status);
  status.objects = store_.size();
  status.skipped = malformed_.size() + std::max(nameless_, nameless_now_);
  status.synced = state_.synced();
  status.resource_version = state_.resource_version();
  return status;
}

}  // namespace koord::kube
