// Certificates by OpenSSL; the reload of files.
#include "koord/net/certificate.hpp"

#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>

#include <filesystem>

#include "codec/openssl_ptr.hpp"
#include "codec/pem.hpp"
#include "koord/base/file.hpp"

namespace koord::net {
namespace {

std::string drain(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

Result<void> add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1)
    return openssl_error(Code::invalid, fmt::format("certificate extension {}", value));
  return {};
}

// OpenSSL's configuration syntax is what carries the names: what could break out of it is refused.
Result<std::string> subject_alternatives(const CertificateRequest& request) {
  std::string list;
  auto add = [&](const char* kind, const std::string& name) {
    fmt::format_to(std::back_inserter(list), "{}{}:{}", list.empty() ? "" : ",", kind, name);
  };
  for (const std::string& name : request.dns_names) {
    if (name.empty() || name.find_first_of(",:;=\"\\ \n") != std::string::npos)
      return Error(Code::invalid, fmt::format("\"{}\" is not a DNS name", name));
    add("DNS", name);
  }
  for (const std::string& address : request.ip_addresses) {
    if (address.empty() || address.find_first_not_of("0123456789abcdefABCDEF.:") != std::string::npos)
      return Error(Code::invalid, fmt::format("\"{}\" is not an IP address", address));
    add("IP", address);
  }
  return list;
}

void add_name(X509_NAME* name, const char* kind, const std::string& value) {
  X509_NAME_add_entry_by_txt(name, kind, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(value.data()),
                             static_cast<int>(value.size()), -1, 0);
}

// The parts that a CA, a leaf and a self-signed certificate have in common.
Result<X509Ptr> begin(EVP_PKEY* key, const std::string& common_name,
                      const std::vector<std::string>& organizations, WallTime now,
                      std::chrono::hours valid_for) {
  X509Ptr certificate(X509_new());
  unsigned char serial[16];
  if (RAND_bytes(serial, sizeof serial) != 1) return openssl_error(Code::internal, "random numbers");
  serial[0] &= 0x7f;
  serial[0] |= 0x40;
  std::unique_ptr<BIGNUM, OpensslDeleter<&BN_free>> number(BN_bin2bn(serial, sizeof serial, nullptr));
  BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate.get()));
  X509_set_version(certificate.get(), X509_VERSION_3);
  const time_t start =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch() - std::chrono::hours{1})
          .count();
  const time_t end = start + std::chrono::seconds(valid_for).count() + 3600;
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()), start);
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()), end);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  for (const std::string& organization : organizations) add_name(name, "O", organization);
  add_name(name, "CN", common_name);
  return certificate;
}

Result<PkeyPtr> make_key(KeyKind kind) {
  PkeyPtr key(kind == KeyKind::rsa_2048 ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256"));
  if (!key) return openssl_error(Code::internal, "key generation");
  return key;
}

Result<KeyPair> sign(X509* certificate, EVP_PKEY* signer, EVP_PKEY* key, KeyKind kind) {
  if (X509_sign(certificate, signer, EVP_sha256()) == 0) return openssl_error(Code::internal, "signing");
  BioPtr certificate_pem(BIO_new(BIO_s_mem())), key_pem(BIO_new(BIO_s_mem()));
  const int written =
      kind == KeyKind::rsa_2048
          ? PEM_write_bio_PrivateKey_traditional(key_pem.get(), key, nullptr, nullptr, 0, nullptr, nullptr)
          : PEM_write_bio_PKCS8PrivateKey(key_pem.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  if (PEM_write_bio_X509(certificate_pem.get(), certificate) != 1 || written != 1)
    return openssl_error(Code::internal, "PEM");
  return KeyPair{drain(certificate_pem.get()), drain(key_pem.get())};
}

Result<void> extend_leaf(X509* leaf, X509* issuer, const CertificateRequest& request) {
  KOORD_CHECK(add_extension(leaf, issuer, NID_key_usage,
                            request.key == KeyKind::rsa_2048 ? "critical,digitalSignature,keyEncipherment"
                                                             : "critical,digitalSignature"));
  KOORD_CHECK(add_extension(leaf, issuer, NID_ext_key_usage, request.server ? "serverAuth" : "clientAuth"));
  KOORD_TRY(names, subject_alternatives(request));
  if (!names.empty()) KOORD_CHECK(add_extension(leaf, issuer, NID_subject_alt_name, names));
  return {};
}

}  // namespace

Result<KeyPair> make_ca(const std::string& common_name, WallTime now, std::chrono::hours valid_for,
                        KeyKind kind) {
  KOORD_TRY(key, make_key(kind));
  KOORD_TRY(certificate, begin(key.get(), common_name, {}, now, valid_for));
  X509* ca = certificate.get();
  X509_set_issuer_name(ca, X509_get_subject_name(ca));
  KOORD_CHECK(add_extension(ca, ca, NID_basic_constraints, "critical,CA:TRUE"));
  KOORD_CHECK(add_extension(ca, ca, NID_key_usage, "critical,digitalSignature,keyCertSign,cRLSign"));
  KOORD_CHECK(add_extension(ca, ca, NID_subject_key_identifier, "hash"));
  return sign(ca, key.get(), key.get(), kind);
}

Result<KeyPair> issue_certificate(const KeyPair& ca, const CertificateRequest& request, WallTime now) {
  KOORD_TRY(chain, read_certificates(ca.certificate_pem, "the CA"));
  KOORD_TRY(issuer_key, read_key(ca.key_pem, "the CA's key"));
  const X509Ptr& issuer = chain.front();
  KOORD_TRY(key, make_key(request.key));
  KOORD_TRY(leaf, begin(key.get(), request.common_name, request.organizations, now, request.valid_for));
  X509_set_issuer_name(leaf.get(), X509_get_subject_name(issuer.get()));
  KOORD_CHECK(add_extension(leaf.get(), issuer.get(), NID_basic_constraints, "critical,CA:FALSE"));
  KOORD_CHECK(add_extension(leaf.get(), issuer.get(), NID_authority_key_identifier, "keyid"));
  KOORD_CHECK(extend_leaf(leaf.get(), issuer.get(), request));
  return sign(leaf.get(), issuer_key.get(), key.get(), request.key);
}

Result<KeyPair> make_self_signed(const CertificateRequest& request, WallTime now) {
  KOORD_TRY(ca, make_ca(fmt::format("{}-ca", request.common_name), now, request.valid_for, request.key));
  KOORD_TRY(leaf, issue_certificate(ca, request, now));
  leaf.certificate_pem += ca.certificate_pem;  // the chain: who wants to pin it finds the CA in it
  return leaf;
}

Result<> check_server_certificate(const KeyPair& pair, const std::string& ca_pem, const std::string& name,
                                  WallTime at) {
  KOORD_TRY(chain, read_certificates(pair.certificate_pem, "certificate"));
  KOORD_TRY(key, read_key(pair.key_pem, "key"));
  KOORD_TRY(roots, read_certificates(ca_pem, "certificate authority"));
  X509* const leaf = chain.front().get();
  if (X509_check_private_key(leaf, key.get()) != 1)
    return openssl_error(Code::invalid, "key does not belong to the certificate");
  StorePtr store(X509_STORE_new());
  for (const X509Ptr& root : roots)
    if (X509_STORE_add_cert(store.get(), root.get()) != 1)
      return openssl_error(Code::invalid, "certificate authority");
  StoreCtxPtr check(X509_STORE_CTX_new());
  if (!check || X509_STORE_CTX_init(check.get(), store.get(), leaf, nullptr) != 1)
    return openssl_error(Code::internal, "certificate");
  X509_VERIFY_PARAM* const rules = X509_STORE_CTX_get0_param(check.get());
  X509_VERIFY_PARAM_set_time(rules,
                             std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count());
  if (X509_check_ca(leaf) == 0) X509_VERIFY_PARAM_set_purpose(rules, X509_PURPOSE_SSL_SERVER);
  if (!name.empty() && X509_VERIFY_PARAM_set1_ip_asc(rules, name.c_str()) != 1 &&
      X509_VERIFY_PARAM_set1_host(rules, name.c_str(), name.size()) != 1)
    return openssl_error(Code::invalid, fmt::format("name \"{}\"", name));
  const bool good = X509_verify_cert(check.get()) == 1;
  ERR_clear_error();
  if (good) return {};
  return Error(
      Code::invalid,
      fmt::format("certificate: {}", X509_verify_cert_error_string(X509_STORE_CTX_get_error(check.get()))));
}

Result<CertificateFiles> kept_certificate(const std::string& folder, const std::string& name,
                                          const CertificateRequest& request, WallTime now) {
  const std::string certificate = fmt::format("{}/{}.crt", folder, name),
                    key = fmt::format("{}/{}.key", folder, name);
  std::error_code failed;
  const bool has_certificate = std::filesystem::exists(certificate, failed);
  const bool has_key = std::filesystem::exists(key, failed);
  if (has_certificate != has_key)
    return Error(Code::invalid, fmt::format("{} is missing, but {} is there: both are used, or both are made",
                                            has_key ? certificate : key, has_key ? key : certificate));
  if (!has_key) {
    KOORD_TRY(pair, make_self_signed(request, now));
    std::filesystem::create_directories(folder, failed);
    if (failed) return Error(Code::io, fmt::format("{}: {}", folder, failed.message()));
    KOORD_CHECK(replace_file(key, pair.key_pem, {.mode = 0600}));
    KOORD_CHECK(replace_file(certificate, pair.certificate_pem, {.mode = 0644}));
  }
  return CertificateFiles(certificate, key);
}

CertificateFiles::CertificateFiles(std::string certificate_path, std::string key_path)
    : certificate_path_(std::move(certificate_path)), key_path_(std::move(key_path)) {}

Result<KeyPair> CertificateFiles::load() {
  KOORD_TRY(certificate, read_file(certificate_path_));
  KOORD_TRY(key, read_file(key_path_));
  last_ = {std::move(certificate), std::move(key)};
  return last_;
}

Result<std::optional<KeyPair>> CertificateFiles::reload() {
  const KeyPair before = last_;
  KOORD_TRY(pair, load());
  if (pair.certificate_pem == before.certificate_pem && pair.key_pem == before.key_pem)
    return std::optional<KeyPair>();
  return std::optional<KeyPair>(std::move(pair));
}

}  // namespace koord::net
