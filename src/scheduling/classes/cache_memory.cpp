// CacheMemory: see cache_memory.hpp.
#include "koord/scheduling/classes/cache_memory.hpp"

namespace koord::scheduling {

void CacheMemory::touch(Entry& entry) {
  if (entry.used_ != turn_) {
    entry.gap_ = entry.used_ == 0 ? kNever : turn_ - entry.used_;
    entry.used_ = turn_;
  }
  if (entry.kept()) by_age_.splice(by_age_.end(), by_age_, entry.place_);
}

bool CacheMemory::admit(Entry& entry, std::size_t bytes, bool expected) {
  if (bytes > limit_ || (entry.gap_ == kNever && !expected)) return false;
  while (bytes_ + bytes > limit_) {
    if (turn_ - by_age_.front()->used_ <= entry.gap_) return false;
    drop_oldest();
  }
  entry.memory_ = this;
  entry.place_ = by_age_.insert(by_age_.end(), &entry);
  entry.bytes_ = bytes;
  bytes_ += bytes;
  return true;
}

void CacheMemory::resize(Entry& entry, std::size_t bytes) {
  bytes_ += bytes - entry.bytes_;
  entry.bytes_ = bytes;
}

void CacheMemory::forget(Entry& entry) {
  by_age_.erase(entry.place_);
  bytes_ -= entry.bytes_;
  entry.memory_ = nullptr;
}

void CacheMemory::limit(std::size_t bytes) {
  limit_ = bytes;
  while (bytes_ > limit_) drop_oldest();
}

void CacheMemory::drop_oldest() {
  Entry& oldest = *by_age_.front();
  forget(oldest);
  oldest.drop();
}

}  // namespace koord::scheduling
