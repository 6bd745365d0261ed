// SharedInformer::catch_up(): how an informer learns that nothing is under way to it any more.
//
// A watch tells of changes and, about once a minute, of how far it is. So an informer whose version is behind
// that of a fresh list has either not been told yet, or nothing has changed in its collection since. A
// second, short watch from the same version tells the two apart: before its end the server says how far it
// is.
//
// Not all servers do: kube-apiserver's cache of a collection knows of versions that others were given only
// where etcd tells it (every five seconds if it is asked to, by itself every ten minutes) or where lists are
// answered from the cache (Kubernetes 1.31 and later). Where the second watch ends behind the version, the
// whole collection is listed and compared with what is here, object by object.
#include <fmt/format.h>

#include <algorithm>

#include "koord/api/lists/list_decoder.hpp"
#include "koord/async/task_group.hpp"
#include "koord/async/timer.hpp"
#include "shared_informer.hpp"

namespace koord::kube {

namespace {

/// kube-apiserver tells a watcher how far it is two seconds before the end of the watch.
constexpr std::chrono::seconds kProbe{3};
/// Between two looks at how far the two are: this is once for a term of a leader.
constexpr nanoseconds kLook = std::chrono::milliseconds(10);
/// The same where each look is at many objects.
constexpr nanoseconds kLookAtAll = std::chrono::milliseconds(50);
constexpr std::uint32_t kPage = 500;

class IgnoringSink final : public api::ItemSink {
 public:
  explicit IgnoringSink(const ObjectType& type) : type_(type) {}
  void* begin_item() override {
    item_ = type_.make();
    return item_.get();
  }
  void end_item(const Error*) override {}

 private:
  const ObjectType& type_;
  std::shared_ptr<void> item_;
};

struct Listed {
  std::string ns, name, version;
};

/// Keeps the names and versions; of what cannot be read, too, whose former state a store may have.
class NamingSink final : public api::ItemSink {
 public:
  NamingSink(const ObjectType& type, std::vector<Listed>& listed, std::vector<Listed>& unread)
      : type_(type), listed_(listed), unread_(unread) {}
  void* begin_item() override {
    item_ = type_.make();
    return item_.get();
  }
  void end_item(const Error* error) override {
    const api::ObjectMeta& meta = type_.meta(item_.get());
    (error == nullptr ? listed_ : unread_)
        .push_back({std::string(meta.namespace_.view()), meta.name, meta.resource_version});
  }

 private:
  const ObjectType& type_;
  std::vector<Listed>& listed_;
  std::vector<Listed>& unread_;
  std::shared_ptr<void> item_;
};

}  // namespace

Task<Result<std::string>> SharedInformer::newest() {
  ListOptions one;
  one.ns = scope_.ns;
  one.label_selector = scope_.labels;
  one.field_selector = scope_.fields;
  one.limit = 1;
  // Without a version: what the server has now, not what a cache of it has.
  const Result<std::string> body = co_await client_.list_raw(api::kind_of(type_.schema()), std::move(one));
  if (!body && body.error().code() == Code::not_found && undefined_) co_return std::string();
  if (!body) co_return body.error();
  IgnoringSink sink(type_);
  KOORD_CO_TRY(page, api::decode_list(*body, type_.schema(), sink));
  co_return page.resource_version;
}

bool SharedInformer::reached(std::string_view version) const {
  return !state_.resource_version().empty() && !ReflectorState::older(state_.resource_version(), version);
}

Task<Result<>> SharedInformer::compare_all() const {
  std::vector<Listed> missing, unread;
  ListOptions page;
  page.limit = kPage;
  std::string version;
  do {
    page.ns = scope_.ns;
    page.label_selector = scope_.labels;
    page.field_selector = scope_.fields;
    ListOptions options = page;
    KOORD_CO_TRY(body, co_await client_.list_raw(api::kind_of(type_.schema()), std::move(options)));
    NamingSink sink(type_, missing, unread);
    KOORD_CO_TRY(meta, api::decode_list(body, type_.schema(), sink));
    version = meta.resource_version;
    page.continue_token = meta.continue_;
  } while (!page.continue_token.empty());
  // What was deleted or made since moves the version of this one beyond that of the list.
  const std::size_t count = missing.size();
  for (;;) {
    std::erase_if(missing, [this](const Listed& one) {
      const Object* here = store_.find({one.ns, one.name});
      return here != nullptr && !ReflectorState::older(type_.meta(here->get()).resource_version, one.version);
    });
    // Of what cannot be read that stays which was known of it before.
    const auto kept = std::ranges::count_if(unread, [this](const Listed& one) {
      return store_.find({one.ns, one.name}) != nullptr;
    });
    if (reached(version) || (missing.empty() && store_.size() == count + static_cast<std::size_t>(kept)))
      co_return Result<>();
    KOORD_CO_CHECK(co_await sleep(clock_, kLookAtAll));
  }
}

Task<Result<>> SharedInformer::compare(const SharedInformer& probe, std::string_view version) const {
  const ReflectorState& seen = probe.state_;
  while (!reached(version)) {
    if (seen.synced())
      co_return Error(Code::gone, fmt::format("{}: the watch could not go on", status_.name));
    // The last change before the version is enough: what comes after it may be hours away.
    if (probe.reached(version) && (seen.last_change().empty() || reached(seen.last_change()))) break;
    if (probe.status_.watches > 1) co_return co_await compare_all();
    KOORD_CO_CHECK(co_await sleep(clock_, kLook));
  }
  co_return Result<>();
}

Task<Result<>> SharedInformer::catch_up() {
  KOORD_CO_TRY(version, co_await newest());
  if (version.empty() || reached(version)) co_return Result<>();
  ReflectorOptions options;
  options.watch_min = options.watch_max = kProbe;
  options.resume_at = state_.resource_version();
  // What it reads stays in neither store nor queue of this one.
  SharedInformer probe(type_, client_, clock_, lines_, scope_, std::move(options), std::nullopt);
  TaskGroup group(co_await asio::this_coro::executor);
  group.spawn("probe", probe.run());
  Task<Result<>> compared = compare(probe, version);
  co_return co_await with_cleanup(std::move(compared), group.stop(clock_, std::chrono::seconds(2)));
}

}  // namespace koord::kube
