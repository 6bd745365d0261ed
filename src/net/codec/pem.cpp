// Reading PEM never asks for a password and leaves OpenSSL's error queue empty.
#include "pem.hpp"

#include <fmt/format.h>
#include <openssl/pem.h>

namespace koord::net {
namespace {

BioPtr memory(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

int no_password(char*, int, int, void*) { return -1; }

}  // namespace

Result<std::vector<X509Ptr>> read_certificates(const std::string& pem, std::string_view what) {
  const BioPtr bio = memory(pem);
  std::vector<X509Ptr> all;
  while (X509Ptr next{PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr)})
    all.push_back(std::move(next));
  ERR_clear_error();  // the loop ends with "no start line"
  if (all.empty()) return Error(Code::invalid, fmt::format("{}: holds no certificate in PEM", what));
  return all;
}

Result<PkeyPtr> read_key(const std::string& pem, std::string_view what) {
  const BioPtr bio = memory(pem);
  PkeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (!key) return openssl_error(Code::invalid, fmt::format("{}: not a PEM key", what));
  return key;
}

Result<> present(SSL_CTX* context, const std::string& certificate_pem, const std::string& key_pem,
                 std::string_view whose) {
  const std::string certificate = fmt::format("{}certificate", whose), key_name = fmt::format("{}key", whose);
  KOORD_TRY(chain, read_certificates(certificate_pem, certificate));
  if (SSL_CTX_use_certificate(context, chain.front().get()) != 1)
    return openssl_error(Code::invalid, certificate);
  for (std::size_t i = 1; i < chain.size(); ++i)
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1)
      return openssl_error(Code::invalid, fmt::format("{}'s chain", certificate));
  KOORD_TRY(key, read_key(key_pem, key_name));
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1)
    return openssl_error(Code::invalid, fmt::format("{} does not belong to the {}", key_name, certificate));
  return {};
}

}  // namespace koord::net
