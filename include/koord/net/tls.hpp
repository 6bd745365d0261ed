// TlsContext: a server's certificate and client CA, ready for use; swapped whole when files change.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "koord/base/result.hpp"

struct ssl_ctx_st;
struct x509_st;
struct x509_store_st;
struct stack_st_X509;

namespace koord::net {

struct TlsSettings {
  std::string certificate_pem;  // the chain, leaf first
  std::string key_pem;
  /// CAs that client certificates are checked against; who shows another one is told apart in Peer. Empty:
  /// none is asked for.
  std::string client_ca_pem = {};
  /// True: without a client certificate that leads to one of them there is no connection.
  bool require_client_certificate = false;
  std::string min_version = "VersionTLS12";  // upstream's names: VersionTLS12, VersionTLS13
  /// Names of IANA (TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256) or OpenSSL, for TLS 1.2; empty: OpenSSL's
  /// choice.
  std::vector<std::string> cipher_suites = {};
  /// CAs of proxies that name the user in headers; told apart from the others in Peer.
  std::string proxy_ca_pem = {};
};

/// Immutable once made; any thread.
class TlsContext {
 public:
  static Result<std::shared_ptr<const TlsContext>> make_server(const TlsSettings& settings);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ssl_ctx_st* native() const { return ctx_; }
  /// Whether a client's certificate (with what came beside it) leads to the one or the other bundle.
  bool is_client(x509_st* certificate, stack_st_X509* chain) const;
  bool is_proxy(x509_st* certificate, stack_st_X509* chain) const;

 private:
  explicit TlsContext(ssl_ctx_st* ctx) : ctx_(ctx) {}
  ssl_ctx_st* ctx_;
  x509_store_st* client_store_ = nullptr;  // null: there is no such bundle
  x509_store_st* proxy_store_ = nullptr;
};

}  // namespace koord::net
