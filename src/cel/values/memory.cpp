// The memory of one evaluation.
#include "koord/cel/value.hpp"

namespace koord::cel {

void* Memory::allocate(std::size_t size) {
  if (size > bytes_) {
    exhausted_ = true;
    return nullptr;
  }
  bytes_ -= size;
  return arena_.allocate(size);
}

void Memory::clear(std::size_t bytes, std::size_t steps) {
  kept_.clear();
  arena_.clear();
  bytes_ = bytes;
  steps_ = steps;
  exhausted_ = false;
}

}  // namespace koord::cel
