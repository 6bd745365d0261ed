// TlsSource: the client's TLS context, from files that rotate or fixed.
#pragma once

#include <memory>
#include <string>

#include "koord/base/clock.hpp"
#include "koord/net/tls.hpp"

namespace koord::kube {

struct ClientConfig;

class TlsSource {
 public:
  static constexpr nanoseconds kPeriod = std::chrono::minutes{1};

  /// `host`: of the URL, used where the config names no other server name.
  TlsSource(const ClientConfig& config, const std::string& host, Clock& clock);
  /// Makes the first context; until then, and for ever over plain HTTP, there is none and nothing is read.
  Result<> start();
  /// Reads the files if the last time was a minute ago; true if there is another context now. What cannot be
  /// read or used leaves the old one.
  bool refresh();
  /// Reads them now. For use after a failure.
  bool reload();
  const std::shared_ptr<const net::TlsContext>& context() const { return context_; }

 private:
  Clock* clock_;
  std::string ca_file_, certificate_file_, key_file_;  // empty: the text in settings_ is fixed
  net::TlsClientSettings settings_;
  std::shared_ptr<const net::TlsContext> context_;
  MonoTime next_{};
};

}  // namespace koord::kube
