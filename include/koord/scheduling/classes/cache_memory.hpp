// CacheMemory: which of the things that can be computed again are kept, within a bound of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>

namespace koord::scheduling {

/// What is asked for in turns and does not fit as a whole must not push itself out: something takes the place
/// of what was not asked for longest only if it came back sooner than that has been idle. Of more classes
/// than fit, as many as fit stay, and the others are computed each time. The engine's thread only.
class CacheMemory {
 public:
  /// Something that may be kept. It leaves by itself when it is destroyed.
  class Entry {
   public:
    Entry() = default;
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    virtual ~Entry() {
      if (memory_ != nullptr) memory_->forget(*this);
    }
    bool kept() const { return memory_ != nullptr; }

   protected:
    /// Gives up what was kept. The entry is not kept any more when this is called.
    virtual void drop() = 0;

   private:
    friend CacheMemory;
    CacheMemory* memory_ = nullptr;  // set: kept there
    std::list<Entry*>::iterator place_;
    std::size_t bytes_ = 0;
    std::uint64_t used_ = 0, gap_ = kNever;  // the last turn, and how many turns before it the one before was
  };

  /// A turn is a decision: what is asked for within one has the same age.
  void next_turn() { ++turn_; }
  void touch(Entry& entry);
  /// True: the entry is kept from now on, with so many bytes. What was asked for the first time is not,
  /// unless it is `expected` to be asked for again; then it takes room that is free.
  bool admit(Entry& entry, std::size_t bytes, bool expected = false);
  void resize(Entry& entry, std::size_t bytes);
  void forget(Entry& entry);
  /// From now on; what is above it goes, the longest unused first.
  void limit(std::size_t bytes);

  std::size_t limit() const { return limit_; }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::uint64_t kNever = UINT64_MAX;
  void drop_oldest();

  std::list<Entry*> by_age_;  // the longest unused first
  std::size_t limit_ = 0, bytes_ = 0;
  std::uint64_t turn_ = 0;
};

}  // namespace koord::scheduling
