#include "koord/kube/informer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "shared_informer.hpp"

namespace koord::kube {

/// What one caller asked for: bound to the SharedInformer that it reads from once the set has started.
class InformerView {
 public:
  InformerView(const ObjectType& object_type, Client& by, Scope of, std::vector<Index> indexes)
      : type(object_type), client(by), scope(std::move(of)), indexes_(std::move(indexes)) {}
  ~InformerView() {
    for (const Waiting& waiting : waiting_) waiting.queue->on_detach(waiting.source, {});
  }

  void bind(std::shared_ptr<SharedInformer> informer, ScopeFilter filter) {
    informer_ = std::move(informer);
    filter_ = std::move(filter);
    for (Index& index : indexes_) informer_->store().add_index(std::move(index));
    indexes_.clear();
    for (const Waiting& waiting : waiting_) informer_->attach(*waiting.queue, waiting.source, filter_);
    waiting_.clear();
    bound_.set();
  }

  void deliver_to(DeliveryQueue& queue) {
    const DeliveryQueue::SourceId source = queue.add_source(type);
    if (informer_) return informer_->attach(queue, source, filter_);
    waiting_.push_back({&queue, source});
    queue.on_detach(source, [this, q = &queue] {
      std::erase_if(waiting_, [q](const Waiting& waiting) { return waiting.queue == q; });
    });
  }

  static Task<Result<>> wait_synced(std::shared_ptr<InformerView> self) {
    KOORD_CO_CHECK(co_await self->bound_.wait());
    co_return co_await self->informer_->synced().wait();
  }

  static Task<Result<>> wait_listed(std::shared_ptr<InformerView> self) {
    KOORD_CO_CHECK(co_await self->bound_.wait());
    co_return co_await self->informer_->listed().wait();
  }

  static Task<Result<>> catch_up(std::shared_ptr<InformerView> self) {
    KOORD_CO_CHECK(co_await self->bound_.wait());
    KOORD_CO_CHECK(co_await self->informer_->synced().wait());
    co_return co_await self->informer_->catch_up();
  }

  bool shows(const Object& object) const { return filter_.everything() || filter_.matches(object.get()); }
  const ScopeFilter& filter() const { return filter_; }
  SharedInformer* informer() const { return informer_.get(); }

  const ObjectType& type;
  Client& client;
  const Scope scope;

 private:
  struct Waiting {
    DeliveryQueue* queue;
    DeliveryQueue::SourceId source;
  };
  std::vector<Index> indexes_;
  std::shared_ptr<SharedInformer> informer_;
  ScopeFilter filter_;
  std::vector<Waiting> waiting_;
  koord::Event bound_;
};

AnyInformer::AnyInformer(std::shared_ptr<InformerView> view) : view_(std::move(view)) {}

Object AnyInformer::find(std::string_view ns, std::string_view name) const {
  if (view_->informer() == nullptr) return {};
  const Object* object = view_->informer()->store().find({ns, name});
  return object != nullptr && view_->shows(*object) ? *object : Object();
}

void AnyInformer::for_each(const std::function<void(const Object&)>& visit) const {
  if (view_->informer() == nullptr) return;
  view_->informer()->store().for_each([&](const Object& object) {
    if (view_->shows(object)) visit(object);
  });
}

std::vector<Object> AnyInformer::by_index(std::string_view index, std::string_view value) const {
  if (view_->informer() == nullptr) return {};
  std::vector<Object> found = view_->informer()->store().by_index(index, value);
  std::erase_if(found, [&](const Object& object) { return !view_->shows(object); });
  return found;
}

std::size_t AnyInformer::size() const {
  if (view_->informer() == nullptr) return 0;
  if (view_->filter().everything()) return view_->informer()->store().size();
  std::size_t count = 0;
  for_each([&](const Object&) { ++count; });
  return count;
}

bool AnyInformer::synced() const {
  return view_->informer() != nullptr && view_->informer()->synced().is_set();
}
const api::Kind* AnyInformer::undefined() const {
  return view_->informer() != nullptr && view_->informer()->undefined() ? &api::kind_of(view_->type.schema())
                                                                        : nullptr;
}
bool AnyInformer::listed() const {
  return view_->informer() != nullptr && view_->informer()->listed().is_set();
}
Task<Result<>> AnyInformer::wait_synced() { return InformerView::wait_synced(view_); }
Task<Result<>> AnyInformer::wait_listed() { return InformerView::wait_listed(view_); }
Task<Result<>> AnyInformer::catch_up() { return InformerView::catch_up(view_); }
void AnyInformer::deliver_to(DeliveryQueue& queue) { view_->deliver_to(queue); }
InformerStatus AnyInformer::status() const {
  return view_->informer() == nullptr ? InformerStatus() : view_->informer()->status();
}

class InformerSet::Impl {
 public:
  Impl(asio::any_io_executor executor, Clock& clock, std::optional<Logger> log)
      : clock_(clock), log_(std::move(log)), group_(std::move(executor), log_failures(log_)) {}

  std::shared_ptr<InformerView> declare(std::shared_ptr<InformerView> view) {
    views_.push_back(view);
    if (started_) resolve(*view);
    return view;
  }

  void start() {
    if (std::exchange(started_, true)) return;
    // The wide ones first, so that the narrow ones find them.
    std::vector<InformerView*> order;
    order.reserve(views_.size());
    for (const auto& view : views_) order.push_back(view.get());
    std::stable_sort(order.begin(), order.end(), [](const InformerView* a, const InformerView* b) {
      return restrictions(a->scope) < restrictions(b->scope);
    });
    for (InformerView* view : order) resolve(*view);
  }

  Task<Result<>> wait_synced() {
    for (std::size_t i = 0; i < views_.size(); ++i) {
      std::shared_ptr<InformerView> view = views_[i];
      KOORD_CO_CHECK(co_await InformerView::wait_synced(view));
    }
    co_return Result<>();
  }

  Task<> stop(nanoseconds grace) { return group_.stop(clock_, grace); }

  std::vector<InformerStatus> status() const {
    std::vector<InformerStatus> all;
    all.reserve(informers_.size());
    for (const auto& informer : informers_) all.push_back(informer->status());
    return all;
  }

 private:
  static int restrictions(const Scope& scope) {
    return !scope.ns.empty() + !scope.fields.empty() + !scope.labels.empty();
  }
  static bool same_user(const Client& a, const Client& b) {
    return &a == &b ||
           (!a.options().credentials.empty() && a.options().credentials == b.options().credentials);
  }

  void resolve(InformerView& view) {
    for (const auto& informer : informers_) {
      if (&informer->type() != &view.type || !same_user(informer->client(), view.client)) continue;
      if (auto filter = ScopeFilter::between(view.type, informer->scope(), view.scope))
        return view.bind(informer, std::move(*filter));
    }
    ReflectorOptions options;
    options.seed = std::random_device{}();
    auto informer =
        std::make_shared<SharedInformer>(view.type, view.client, clock_, lines_, view.scope, options, log_);
    informers_.push_back(informer);
    group_.spawn(fmt::format("informer of {}", informer->status().name), informer->run());
    view.bind(informer, *ScopeFilter::between(view.type, view.scope, view.scope));
  }

  Clock& clock_;
  std::optional<Logger> log_;
  LongLines lines_;
  std::vector<std::shared_ptr<InformerView>> views_;
  std::vector<std::shared_ptr<SharedInformer>> informers_;
  bool started_ = false;
  TaskGroup group_;
};

InformerSet::InformerSet(asio::any_io_executor executor, Clock& clock, std::optional<Logger> log)
    : impl_(std::make_unique<Impl>(std::move(executor), clock, std::move(log))) {}
InformerSet::~InformerSet() = default;

std::shared_ptr<InformerView> InformerSet::view(const ObjectType& type, Client& client, Scope scope,
                                                std::vector<Index> indexes) {
  validate(scope);
  return impl_->declare(std::make_shared<InformerView>(type, client, std::move(scope), std::move(indexes)));
}

void InformerSet::start() { impl_->start(); }
Task<Result<>> InformerSet::wait_synced() { return impl_->wait_synced(); }
Task<> InformerSet::stop(nanoseconds grace) { return impl_->stop(grace); }
std::vector<InformerStatus> InformerSet::status() const { return impl_->status(); }

}  // namespace koord::kube
