// Tag: what a completion queue hands back when an operation of gRPC has ended, and objects that live as long
// as one of theirs is under way.
#pragma once

#include <atomic>

namespace koord::rpc {

class Tag {
 public:
  virtual void done(bool ok) = 0;

 protected:
  ~Tag() = default;
};

/// Lives until nobody holds it any more. Made with one hold, which is its maker's.
class Held {
 public:
  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  void hold() { holds_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (holds_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 protected:
  virtual ~Held() = default;

 private:
  std::atomic<int> holds_{1};
};

/// One operation of a Held at a time; the operation holds it.
template <class T>
class Step final : public Tag {
 public:
  Step(T& owner, void (T::*next)(bool)) : owner_(owner), next_(next) {}
  /// For gRPC, which will call `next` once.
  void* start() {
    owner_.hold();
    return static_cast<Tag*>(this);
  }
  /// gRPC will not, after all.
  void forget() { owner_.release(); }
  void done(bool ok) override {
    T& owner = owner_;
    (owner.*next_)(ok);
    owner.release();
  }

 private:
  T& owner_;
  void (T::*next_)(bool);
};

}  // namespace koord::rpc
