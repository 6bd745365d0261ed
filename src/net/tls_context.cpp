// TlsContext over OpenSSL.
#include "koord/net/tls.hpp"

#include <fmt/format.h>

#include <utility>

#include "codec/pem.hpp"

namespace koord::net {
namespace {

constexpr unsigned char kProtocols[] = "\x08http/1.1";

int select_http_1_1(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                    unsigned int in_size, void*) {
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, kProtocols, sizeof kProtocols - 1, in, in_size) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

// The bundle as a store of its own; its CAs are also what the handshake accepts and asks for.
Result<X509_STORE*> use_bundle(SSL_CTX* ctx, const std::string& pem, const std::string& what) {
  KOORD_TRY(bundle, read_certificates(pem, what));
  StorePtr store(X509_STORE_new());
  for (const X509Ptr& ca : bundle) {
    if (X509_STORE_add_cert(store.get(), ca.get()) != 1 ||
        X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), ca.get()) != 1)
      return openssl_error(Code::invalid, what);
    SSL_CTX_add_client_CA(ctx, ca.get());
  }
  return store.release();
}

// Who shows a certificate that leads nowhere may still talk; it is told apart in Peer.
int accept_any(int, X509_STORE_CTX*) { return 1; }

bool leads_to(X509_STORE* store, X509* certificate, STACK_OF(X509) * chain) {
  if (store == nullptr) return false;
  StoreCtxPtr check(X509_STORE_CTX_new());
  if (!check || X509_STORE_CTX_init(check.get(), store, certificate, chain) != 1) return false;
  X509_STORE_CTX_set_default(check.get(), "ssl_client");
  const bool good = X509_verify_cert(check.get()) == 1;
  ERR_clear_error();
  return good;
}

/// `pinned`: the certificate that needs no other proof.
int verify_or_pinned(X509_STORE_CTX* chain, void* pinned) {
  X509* const leaf = X509_STORE_CTX_get0_cert(chain);
  if (leaf != nullptr && X509_cmp(leaf, static_cast<X509*>(pinned)) == 0) {
    X509_STORE_CTX_set_error(chain, X509_V_OK);
    return 1;
  }
  return X509_verify_cert(chain);
}

Result<void> set_ciphers(SSL_CTX* ctx, const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) {
    SslPtr probe(SSL_new(ctx));
    const char* openssl_name = OPENSSL_cipher_name(name.c_str());
    std::string chosen = openssl_name && std::string_view(openssl_name) != "(NONE)" ? openssl_name : name;
    if (chosen.starts_with("TLS_AES_") || chosen.starts_with("TLS_CHACHA20_"))
      continue;  // TLS 1.3: always on
    if (SSL_set_cipher_list(probe.get(), chosen.c_str()) != 1) {
      ERR_clear_error();
      return Error(Code::invalid, fmt::format("unknown cipher suite {}", name));
    }
    if (!list.empty()) list += ':';
    list += chosen;
  }
  if (!list.empty() && SSL_CTX_set_cipher_list(ctx, list.c_str()) != 1)
    return openssl_error(Code::invalid, "cipher suites");
  return {};
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::make_server(const TlsSettings& settings) {
  SSL_CTX* ctx = SSL_CTX_new(TLS_server_method());
  if (!ctx) return openssl_error(Code::internal, "TLS");
  std::shared_ptr<TlsContext> context(new TlsContext(ctx));
  int version = 0;
  if (settings.min_version == "VersionTLS12" || settings.min_version.empty()) version = TLS1_2_VERSION;
  if (settings.min_version == "VersionTLS13") version = TLS1_3_VERSION;
  if (version == 0)
    return Error(Code::invalid, fmt::format("TLS version {} is not known; VersionTLS12 and VersionTLS13 are",
                                            settings.min_version));
  SSL_CTX_set_min_proto_version(ctx, version);
  SSL_CTX_set_mode(
      ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  static constexpr unsigned char kSession[] = "koord";
  SSL_CTX_set_session_id_context(ctx, kSession, sizeof kSession - 1);
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);  // stateless tickets resume; nothing to keep
  SSL_CTX_set_alpn_select_cb(ctx, select_http_1_1, nullptr);
  KOORD_CHECK(present(ctx, settings.certificate_pem, settings.key_pem, ""));
  if (!settings.client_ca_pem.empty()) {
    KOORD_TRY(store, use_bundle(ctx, settings.client_ca_pem, "client CA"));
    context->client_store_ = store;
  }
  if (!settings.proxy_ca_pem.empty()) {
    KOORD_TRY(store, use_bundle(ctx, settings.proxy_ca_pem, "CA of proxies"));
    context->proxy_store_ = store;
  }
  if (context->client_store_ != nullptr || context->proxy_store_ != nullptr) {
    SSL_CTX_set_verify(
        ctx, SSL_VERIFY_PEER | (settings.require_client_certificate ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
        settings.require_client_certificate ? nullptr : accept_any);
    // A ticket would bring the client's certificate back without its chain.
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(ctx, 0);
  }
  KOORD_CHECK(set_ciphers(ctx, settings.cipher_suites));
  return std::shared_ptr<const TlsContext>(std::move(context));
}

Result<std::shared_ptr<const TlsContext>> TlsContext::make_client(const TlsClientSettings& settings) {
  if (settings.server_name.empty()) return Error(Code::invalid, "TLS: the server's name is missing");
  SSL_CTX* ctx = SSL_CTX_new(TLS_client_method());
  if (!ctx) return openssl_error(Code::internal, "TLS");
  std::shared_ptr<TlsContext> context(new TlsContext(ctx));
  context->server_name_ = settings.server_name;
  SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
  // 33 KiB for each connection that waits for an answer or for work; a pool has dozens of these.
  SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_protos(ctx, kProtocols, sizeof kProtocols - 1);
  SSL_CTX_set_app_data(ctx, context.get());
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(ctx, keep_session);
  SSL_CTX_set_verify(ctx, settings.skip_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  if (!settings.skip_verify && settings.ca_pem.empty()) SSL_CTX_set_default_verify_paths(ctx);
  if (!settings.skip_verify && !settings.ca_pem.empty()) {
    KOORD_TRY(bundle, read_certificates(settings.ca_pem, "certificate authority"));
    for (const X509Ptr& ca : bundle)
      if (X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), ca.get()) != 1)
        return openssl_error(Code::invalid, "certificate authority");
  }
  if (!settings.pinned_pem.empty()) {
    KOORD_TRY(pinned, read_certificates(settings.pinned_pem, "pinned certificate"));
    context->pinned_ = pinned.front().release();
    SSL_CTX_set_cert_verify_callback(ctx, verify_or_pinned, context->pinned_);
  }
  if (!settings.certificate_pem.empty())
    KOORD_CHECK(present(ctx, settings.certificate_pem, settings.key_pem, "client "));
  return std::shared_ptr<const TlsContext>(std::move(context));
}

int TlsContext::keep_session(SSL* ssl, SSL_SESSION* session) {
  auto* self = static_cast<TlsContext*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  SSL_SESSION_free(std::exchange(self->session_, session));
  return 1;  // it is ours now
}

bool TlsContext::is_client(X509* certificate, STACK_OF(X509) * chain) const {
  return leads_to(client_store_, certificate, chain);
}
bool TlsContext::is_proxy(X509* certificate, STACK_OF(X509) * chain) const {
  return leads_to(proxy_store_, certificate, chain);
}

TlsContext::~TlsContext() {
  SSL_SESSION_free(session_);
  SSL_CTX_free(ctx_);
  X509_free(pinned_);
  X509_STORE_free(client_store_);
  X509_STORE_free(proxy_store_);
}

}  // namespace koord::net
