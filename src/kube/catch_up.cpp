// SharedInformer::catch_up(): how an informer learns that nothing is under way to it any more.
//
// A watch tells of changes and, about once a minute, of how far it is. So an informer whose version is behind
// that of a fresh list has either not been told yet, or nothing has changed in its collection since. A
// second, short watch from the same version tells the two apart: before its end the server says how far it
// is.
#include <fmt/format.h>

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

Task<Result<>> SharedInformer::compare(const SharedInformer& probe, std::string_view version) const {
  const ReflectorState& seen = probe.state_;
  while (!reached(version)) {
    if (seen.synced())
      co_return Error(Code::gone, fmt::format("{}: the watch could not go on", status_.name));
    // The last change before the version is enough: what comes after it may be hours away.
    if (probe.reached(version) && (seen.last_change().empty() || reached(seen.last_change()))) break;
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
