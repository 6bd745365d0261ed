#include "koord/kube/delivery.hpp"

#include <algorithm>

namespace koord::kube {

DeliveryQueue::~DeliveryQueue() {
  for (Source& source : sources_)
    if (source.detach) source.detach();
}

DeliveryQueue::SourceId DeliveryQueue::add_source(const ObjectType& type) {
  sources_.push_back({&type, false, {}});
  return static_cast<SourceId>(sources_.size() - 1);
}

void DeliveryQueue::on_detach(SourceId source, std::function<void()> detach) {
  sources_[source].detach = std::move(detach);
}

void DeliveryQueue::push(SourceId source, const Object& before, const Object& after) {
  if (closed_) return;
  const Object& any = after ? after : before;
  const api::ObjectMeta& meta = sources_[source].type->meta(any.get());
  const auto [it, added] =
      by_key_.try_emplace({source, {meta.namespace_.view(), meta.name}}, taken_ + slots_.size());
  if (added) {
    slots_.push_back({source, any, before, after});
    ++live_;
  } else {
    Slot& slot = slots_[it->second - taken_];
    slot.after = after;
    if (!slot.before && !slot.after) {
      by_key_.erase(it);
      slot.anchor.reset();
      --live_;
    }
  }
  update();
}

void DeliveryQueue::source_synced(SourceId source) {
  sources_[source].synced = true;
  update();
}

bool DeliveryQueue::all_synced() const {
  return std::all_of(sources_.begin(), sources_.end(), [](const Source& source) { return source.synced; });
}

void DeliveryQueue::update() {
  if (closed_ || live_ > 0 || (!synced_told_ && !sources_.empty() && all_synced()))
    readable_.set();
  else
    readable_.reset();
}

std::optional<Batch> DeliveryQueue::try_next(std::size_t limit) {
  if (closed_ || !readable_.is_set()) return std::nullopt;
  Batch batch;
  batch.changes.reserve(std::min(limit, live_));
  while (!slots_.empty() && (batch.changes.size() < limit || live_ == 0)) {
    Slot& slot = slots_.front();
    if (slot.before || slot.after) {
      const ObjectType& type = *sources_[slot.source].type;
      const api::ObjectMeta& meta = type.meta(slot.anchor.get());
      by_key_.erase({slot.source, {meta.namespace_.view(), meta.name}});
      batch.changes.push_back({&type, std::move(slot.before), std::move(slot.after)});
      --live_;
    }
    slots_.pop_front();
    ++taken_;
  }
  if (live_ == 0 && !sources_.empty() && all_synced()) synced_told_ = true;
  batch.synced = synced_told_;
  update();
  return batch;
}

Task<Result<Batch>> DeliveryQueue::next(std::size_t limit) {
  for (;;) {
    if (closed_) co_return Error(Code::cancelled, "the delivery queue is closed");
    if (std::optional<Batch> batch = try_next(limit)) co_return std::move(*batch);
    KOORD_CO_CHECK(co_await readable_.wait());
  }
}

void DeliveryQueue::close() {
  closed_ = true;
  slots_.clear();
  by_key_.clear();
  live_ = 0;
  update();
}

}  // namespace koord::kube
