// SharedParts: what the same plugin's instances of several profiles have in common.
#pragma once

#include <memory>
#include <typeindex>
#include <unordered_map>
#include <utility>

namespace koord::scheduling {

/// One object of each type, made by the first that asks. They outlive all that plugins prepare.
class SharedParts {
 public:
  template <class T, class... Args>
  T& get(Args&&... args) {
    std::shared_ptr<void>& part = parts_[typeid(T)];
    if (!part) part = std::make_shared<T>(std::forward<Args>(args)...);
    return *static_cast<T*>(part.get());
  }

 private:
  std::unordered_map<std::type_index, std::shared_ptr<void>> parts_;
};

}  // namespace koord::scheduling
