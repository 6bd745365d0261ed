// DeliveryQueue: what changed in the collections that a role watches, since it looked last.
#pragma once

#include <deque>
#include <optional>

#include "koord/async/event.hpp"
#include "koord/kube/store.hpp"

namespace koord::kube {

/// One object's change. When an object was deleted and made again under its name in between, both are set
/// and their uids differ.
struct Change {
  const ObjectType* type = nullptr;
  Object before;  // null: added
  Object after;   // null: deleted

  template <class T>
  bool is() const {
    return type == &kObjectType<T>;
  }
  /// Only if is<T>().
  template <class T>
  std::shared_ptr<const T> old_object() const {
    return std::static_pointer_cast<const T>(before);
  }
  template <class T>
  std::shared_ptr<const T> new_object() const {
    return std::static_pointer_cast<const T>(after);
  }
};

struct Batch {
  /// In order of each object's first change; several kinds mix. Objects may be read from any thread.
  std::vector<Change> changes;
  /// With this batch everything that existed when the informers synced has been delivered.
  bool synced = false;
};

/// One per role (or part of one), fed by any number of informers (see Informer::deliver_to). Holds at most
/// one change per object: the oldest `before` and the newest `after`; what was added and deleted between
/// two looks never shows. So it is bounded by the number of objects, drops nothing, and never holds up a
/// reflector. Belongs to the event loop's thread. It must outlive the informers or be detached from them.
class DeliveryQueue {
 public:
  DeliveryQueue() = default;
  DeliveryQueue(const DeliveryQueue&) = delete;
  DeliveryQueue& operator=(const DeliveryQueue&) = delete;
  ~DeliveryQueue();

  /// Waits until something changed or `synced` became true, then takes everything (or the first `limit`).
  /// Error(Code::cancelled) when cancelled or closed.
  Task<Result<Batch>> next(std::size_t limit = SIZE_MAX);
  /// The same without waiting; empty if there is nothing.
  std::optional<Batch> try_next(std::size_t limit = SIZE_MAX);
  std::size_t size() const { return live_; }
  /// True once a batch with `synced` was handed out.
  bool synced() const { return synced_told_; }
  /// Ends next(); later changes are ignored.
  void close();

  // For informers.
  using SourceId = std::uint32_t;
  SourceId add_source(const ObjectType& type);
  void push(SourceId source, const Object& before, const Object& after);
  void source_synced(SourceId source);
  /// Called by the destructor, so that no source is left with a pointer to the queue.
  void on_detach(SourceId source, std::function<void()> detach);

 private:
  struct Source {
    const ObjectType* type;
    bool synced = false;
    std::function<void()> detach;
  };
  struct Slot {
    SourceId source;
    Object anchor;  // keeps the name alive that by_key_ points to
    Object before, after;
  };
  struct SlotKey {
    SourceId source;
    KeyView key;
    friend bool operator==(const SlotKey&, const SlotKey&) = default;
  };
  struct SlotHash {
    std::size_t operator()(const SlotKey& slot) const noexcept {
      return KeyViewHash{}(slot.key) + slot.source;
    }
  };
  bool all_synced() const;
  void update();

  std::vector<Source> sources_;
  std::deque<Slot> slots_;
  std::uint64_t taken_ = 0;  // slots handed out so far: the number of slots_.front()
  std::size_t live_ = 0;     // slots that still say something
  std::unordered_map<SlotKey, std::uint64_t, SlotHash> by_key_;
  Event readable_;
  bool synced_told_ = false;
  bool closed_ = false;
};

}  // namespace koord::kube
