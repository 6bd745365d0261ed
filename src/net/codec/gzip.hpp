// Unpacking of gzip bodies, bounded.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "koord/base/result.hpp"

namespace koord::net {

/// In steps, so that others have their turn while a body grows to hundreds of megabytes.
class Gunzip {
 public:
  static constexpr std::size_t kStep = std::size_t{1} << 20;

  /// `packed` must stay.
  Gunzip(std::string_view packed, std::size_t limit);
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  /// Unpacks at most kStep bytes more; true when that was the last. Code::too_large beyond `limit` bytes,
  /// Code::parse for what is damaged or cut.
  Result<bool> step();
  std::string& text() { return text_; }

 private:
  struct State;
  const std::string_view packed_;
  const std::size_t limit_;
  std::unique_ptr<State> state_;
  std::string text_;
};

/// All of it at once.
Result<std::string> gunzip(std::string_view packed, std::size_t limit);

}  // namespace koord::net
