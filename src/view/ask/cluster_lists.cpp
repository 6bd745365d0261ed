// ClusterLists: see cluster_lists.hpp.
#include "koord/view/ask/cluster_lists.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/lists/list_decoder.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/async/offload.hpp"
#include "koord/scheduling/config/watched_scope.hpp"

namespace koord::view {

namespace {

constexpr std::uint32_t kPage = 1000;
/// A list that grew too old while it was read is begun anew so often.
constexpr int kTries = 3;

class Sink final : public api::ItemSink {
 public:
  Sink(const kube::ObjectType& type, const std::function<void(kube::Object)>& take)
      : type_(type), take_(take) {}
  void* begin_item() override {
    item_ = type_.make();
    return item_.get();
  }
  void end_item(const Error* error) override {
    if (error != nullptr) {
      const api::ObjectMeta& meta = type_.meta(item_.get());
      bad.push_back(fmt::format("{}{}{}: {}", meta.namespace_.view(), meta.namespace_.empty() ? "" : "/",
                                meta.name, error->message()));
      return;
    }
    ++items;
    take_(std::move(item_));
  }

  std::size_t items = 0;
  std::vector<std::string> bad;

 private:
  const kube::ObjectType& type_;
  const std::function<void(kube::Object)>& take_;
  std::shared_ptr<void> item_;
};

}  // namespace

Task<Result<>> ClusterLists::list(const kube::ObjectType& type, kube::Scope scope, Take take) {
  for (int n = 1;; ++n) {
    Task<Result<>> read = pages(type, scope, take);
    Result<> done = co_await std::move(read);
    if (done || done.error().code() != Code::gone || n == kTries) co_return done;
  }
}

Task<Result<>> ClusterLists::pages(const kube::ObjectType& type, const kube::Scope& scope, const Take& take) {
  const api::Kind& kind = api::kind_of(type.schema());
  Sink sink(type, take);
  kube::ListOptions options;
  options.limit = kPage;
  options.ns = scope.ns;
  options.field_selector = scope.fields;
  options.label_selector = scope.labels;
  do {
    KOORD_CO_TRY(text, co_await client_.list_raw(kind, options));
    std::function<Result<api::ListMeta>()> decode = [&] {
      return api::decode_list(text, type.schema(), sink);
    };
    Result<api::ListMeta> meta = workers_ != nullptr ? co_await offload(*workers_, decode) : decode();
    if (!meta) co_return std::move(meta).error();
    options.continue_token = meta->continue_;
    const auto left =
        static_cast<std::size_t>(std::max<std::int64_t>(0, meta->remaining_item_count.value_or(0)));
    progress_(fmt::format("listing {}", kind.plural), sink.items, left > 0 ? sink.items + left : 0);
  } while (!options.continue_token.empty());
  for (const std::string& bad : sink.bad)
    notes_.push_back(fmt::format("{} could not be read: {}", kind.kind, bad));
  co_return Result<>();
}

Task<Result<>> ClusterLists::read() {
  KOORD_CO_CHECK(co_await list(kube::kObjectType<api::Node>, {}, [this](kube::Object object) {
    engine_.put_node(std::static_pointer_cast<const api::Node>(object));
  }));
  kube::Scope unfinished;
  unfinished.fields = "status.phase!=Succeeded,status.phase!=Failed";
  KOORD_CO_CHECK(co_await list(kube::kObjectType<api::Pod>, unfinished, [this](kube::Object object) {
    auto pod = std::static_pointer_cast<const api::Pod>(object);
    if (pod->spec.node_name.empty()) waiting_.push_back(pod);
    engine_.put_pod(std::move(pod));
  }));
  co_return co_await read_others();
}

Task<Result<>> ClusterLists::read_others() {
  for (const auto& store : engine_.objects().stores()) {
    const kube::ObjectType& type = store->type();
    for (kube::Scope& scope : scheduling::watched_scopes(engine_.profiles(), type)) {
      const Result<> done = co_await list(type, std::move(scope), [this, &type](kube::Object object) {
        engine_.change_object(type, std::move(object), false);
      });
      if (done) continue;
      // A kind that the cluster does not have has no objects.
      if (done.error().code() == Code::not_found) continue;
      if (done.error().code() != Code::forbidden) co_return done.error();
      notes_.push_back(fmt::format("the answer is without {}, which this user may not list: {}",
                                   api::kind_of(type.schema()).plural, done.error().message()));
    }
  }
  co_return Result<>();
}

}  // namespace koord::view
