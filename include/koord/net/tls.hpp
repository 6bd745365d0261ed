// TlsContext: what the connections of one TLS server, or those to one, have in common; swapped whole when
// files change.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "koord/base/result.hpp"

struct ssl_ctx_st;
struct ssl_st;
struct ssl_session_st;
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

struct TlsClientSettings {
  std::string server_name;      // what the server's certificate must be for: a name or a numeric address
  std::string ca_pem = {};      // empty: the system's certificates
  std::string pinned_pem = {};  // this very certificate is accepted, whoever signed it and for whatever name
  bool skip_verify = false;
  std::string certificate_pem = {}, key_pem = {};  // both or neither
};

/// One side, 1.2 at least, HTTP/1.1 alone by ALPN. Any thread, but for a client's session, which is the event
/// loop's.
class TlsContext {
 public:
  static Result<std::shared_ptr<const TlsContext>> make_server(const TlsSettings& settings);
  static Result<std::shared_ptr<const TlsContext>> make_client(const TlsClientSettings& settings);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ssl_ctx_st* native() const { return ctx_; }
  bool is_server() const { return server_name_.empty(); }

  // A server's: whether a client's certificate (with what came beside it) leads to the one or the other
  // bundle.
  bool is_client(x509_st* certificate, stack_st_X509* chain) const;
  bool is_proxy(x509_st* certificate, stack_st_X509* chain) const;

  // A client's.
  const std::string& server_name() const { return server_name_; }
  /// The server has given a ticket: a handshake now costs a tenth of the first one.
  bool resumable() const { return session_ != nullptr; }
  /// The newest, whose certificate was verified by this context; nullptr if there is none.
  ssl_session_st* session() const { return session_; }

 private:
  explicit TlsContext(ssl_ctx_st* ctx) : ctx_(ctx) {}
  static int keep_session(ssl_st* ssl, ssl_session_st* session);

  ssl_ctx_st* ctx_;
  x509_store_st* client_store_ = nullptr;  // null: there is no such bundle
  x509_store_st* proxy_store_ = nullptr;
  ssl_session_st* session_ = nullptr;
  x509_st* pinned_ = nullptr;
  std::string server_name_;  // empty: a server's
};

}  // namespace koord::net
