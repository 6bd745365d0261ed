// TokenSource: the value of the Authorization header, from a file that rotates or fixed.
#pragma once

#include <string>

#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"

namespace koord::kube {

struct ClientConfig;

class TokenSource {
 public:
  static constexpr nanoseconds kPeriod = std::chrono::minutes{1};

  TokenSource(const ClientConfig& config, Clock& clock);
  /// "Bearer ..." or "Basic ..."; empty: none. Reads the file if the last time was a minute ago. A file that
  /// cannot be read is an error only if none was ever read.
  Result<> refresh();
  /// Reads the file now; true if it has changed. For use after a 401.
  bool reload();
  const std::string& header() const { return header_; }

 private:
  Result<std::string> read() const;

  Clock& clock_;
  std::string file_;
  std::string header_;
  MonoTime next_{};
};

}  // namespace koord::kube
