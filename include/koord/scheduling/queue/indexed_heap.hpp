// IndexedHeap: a binary heap of QueuedPods from which any element can be taken out.
#pragma once

#include <vector>

#include "koord/scheduling/queue/queued_pod.hpp"

namespace koord::scheduling {

/// A pod is in at most one heap at a time: it knows its position itself.
template <class Less>
class IndexedHeap {
 public:
  explicit IndexedHeap(Less less) : less_(std::move(less)) {}

  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  QueuedPod* top() const { return items_.front(); }
  /// In no particular order.
  const std::vector<QueuedPod*>& items() const { return items_; }

  void push(QueuedPod* pod) {
    items_.push_back(pod);
    up(items_.size() - 1);
  }
  void erase(QueuedPod* pod) {
    std::size_t hole = pod->heap_position;
    QueuedPod* last = items_.back();
    items_.pop_back();
    if (last == pod) return;
    items_[hole] = last;
    last->heap_position = static_cast<std::uint32_t>(hole);
    up(hole);
    down(last->heap_position);
  }
  QueuedPod* pop() {
    QueuedPod* pod = top();
    erase(pod);
    return pod;
  }

 private:
  void up(std::size_t i) {
    QueuedPod* pod = items_[i];
    while (i > 0) {
      std::size_t parent = (i - 1) / 2;
      if (!less_(*pod, *items_[parent])) break;
      place(i, items_[parent]);
      i = parent;
    }
    place(i, pod);
  }
  void down(std::size_t i) {
    QueuedPod* pod = items_[i];
    for (;;) {
      std::size_t child = 2 * i + 1;
      if (child >= items_.size()) break;
      if (child + 1 < items_.size() && less_(*items_[child + 1], *items_[child])) ++child;
      if (!less_(*items_[child], *pod)) break;
      place(i, items_[child]);
      i = child;
    }
    place(i, pod);
  }
  void place(std::size_t i, QueuedPod* pod) {
    items_[i] = pod;
    pod->heap_position = static_cast<std::uint32_t>(i);
  }

  Less less_;
  std::vector<QueuedPod*> items_;
};

}  // namespace koord::scheduling
