// TlsContext: a server's certificate and client CA, ready for use; swapped whole when files change.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "koord/base/result.hpp"

struct ssl_ctx_st;

namespace koord::runtime {

struct TlsSettings {
  std::string certificate_pem;  // the chain, leaf first
  std::string key_pem;
  /// CAs that client certificates are checked against: one that they did not sign ends the handshake. Empty:
  /// none is asked for.
  std::string client_ca_pem = {};
  /// True: a connection without a client certificate is refused; else it is anonymous.
  bool require_client_certificate = false;
  std::string min_version = "VersionTLS12";  // upstream's names: VersionTLS12, VersionTLS13
  /// Names of IANA (TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256) or OpenSSL, for TLS 1.2; empty: OpenSSL's
  /// choice.
  std::vector<std::string> cipher_suites = {};
};

/// Immutable once made; any thread.
class TlsContext {
 public:
  static Result<std::shared_ptr<const TlsContext>> make_server(const TlsSettings& settings);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ssl_ctx_st* native() const { return ctx_; }

 private:
  explicit TlsContext(ssl_ctx_st* ctx) : ctx_(ctx) {}
  ssl_ctx_st* ctx_;
};

}  // namespace koord::runtime
