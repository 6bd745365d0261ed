// TlsContext over OpenSSL.
#include "koord/net/tls.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "openssl_ptr.hpp"

namespace koord::net {
namespace {

int select_http_1_1(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                    unsigned int in_size, void*) {
  static constexpr unsigned char kProtocols[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, kProtocols, sizeof kProtocols - 1, in, in_size) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

Result<void> use_chain(SSL_CTX* ctx, const std::string& pem) {
  BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  X509Ptr leaf(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (!leaf) return openssl_error(Code::parse, "certificate: not a PEM certificate");
  if (SSL_CTX_use_certificate(ctx, leaf.get()) != 1) return openssl_error(Code::invalid, "certificate");
  while (X509Ptr next{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)})
    if (SSL_CTX_add1_chain_cert(ctx, next.get()) != 1)
      return openssl_error(Code::invalid, "certificate chain");
  ERR_clear_error();  // the loop ends with "no start line"
  return {};
}

Result<void> use_key(SSL_CTX* ctx, const std::string& pem) {
  BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  PkeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  if (!key) return openssl_error(Code::parse, "private key: not a PEM key");
  if (SSL_CTX_use_PrivateKey(ctx, key.get()) != 1) return openssl_error(Code::invalid, "private key");
  if (SSL_CTX_check_private_key(ctx) != 1)
    return openssl_error(Code::invalid, "the private key does not belong to the certificate");
  return {};
}

// The bundle as a store of its own; its CAs are also what the handshake accepts and asks for.
Result<X509_STORE*> use_bundle(SSL_CTX* ctx, const std::string& pem, const std::string& what) {
  BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  StorePtr store(X509_STORE_new());
  int count = 0;
  while (X509Ptr ca{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    if (X509_STORE_add_cert(store.get(), ca.get()) != 1 ||
        X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), ca.get()) != 1)
      return openssl_error(Code::invalid, what);
    SSL_CTX_add_client_CA(ctx, ca.get());
    ++count;
  }
  ERR_clear_error();
  if (count == 0) return Error(Code::parse, what + ": no PEM certificate in it");
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
      return Error(Code::invalid, "unknown cipher suite " + name);
    }
    list += (list.empty() ? "" : ":") + chosen;
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
    return Error(Code::invalid,
                 "TLS version " + settings.min_version + " is not known; VersionTLS12 and VersionTLS13 are");
  SSL_CTX_set_min_proto_version(ctx, version);
  SSL_CTX_set_mode(
      ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  static constexpr unsigned char kSession[] = "koord";
  SSL_CTX_set_session_id_context(ctx, kSession, sizeof kSession - 1);
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);  // stateless tickets resume; nothing to keep
  SSL_CTX_set_alpn_select_cb(ctx, select_http_1_1, nullptr);
  KOORD_CHECK(use_chain(ctx, settings.certificate_pem));
  KOORD_CHECK(use_key(ctx, settings.key_pem));
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

bool TlsContext::is_client(X509* certificate, STACK_OF(X509) * chain) const {
  return leads_to(client_store_, certificate, chain);
}
bool TlsContext::is_proxy(X509* certificate, STACK_OF(X509) * chain) const {
  return leads_to(proxy_store_, certificate, chain);
}

TlsContext::~TlsContext() {
  SSL_CTX_free(ctx_);
  X509_STORE_free(client_store_);
  X509_STORE_free(proxy_store_);
}

}  // namespace koord::net
