// Certificates made and checked in memory, and files that are read again when they change.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"

namespace koord::net {

struct KeyPair {
  std::string certificate_pem;
  std::string key_pem;
};

/// What keys are made. A signature with RSA costs twenty times that with ECDSA, a key a tenth of a second.
enum class KeyKind : std::uint8_t {
  ecdsa_p256,  // in PKCS#8
  rsa_2048,    // in PKCS#1, for keys that older programs read, too
};

struct CertificateRequest {
  std::string common_name;
  std::vector<std::string> organizations = {};
  std::vector<std::string> dns_names = {};
  std::vector<std::string> ip_addresses = {};  // "127.0.0.1", "::1"
  bool server = true;                          // extended key usage: server, else client authentication
  std::chrono::hours valid_for{24 * 365};
  KeyKind key = KeyKind::ecdsa_p256;
};

/// A self-signed CA, valid from an hour before `now`.
Result<KeyPair> make_ca(const std::string& common_name, WallTime now,
                        std::chrono::hours valid_for = std::chrono::hours{24 * 3650},
                        KeyKind kind = KeyKind::ecdsa_p256);
Result<KeyPair> issue_certificate(const KeyPair& ca, const CertificateRequest& request, WallTime now);
/// A certificate without a CA of its own, as upstream's servers make it when none is given.
Result<KeyPair> make_self_signed(const CertificateRequest& request, WallTime now);

/// Whether a server that shows `pair` is believed at `at` by a client that trusts `ca_pem` alone and calls it
/// `name` (a DNS name or a numeric address; empty: any): the key is the certificate's, which leads to the CA,
/// is for servers and valid then. A CA's own pair is checked against itself. The error says what is wrong.
Result<> check_server_certificate(const KeyPair& pair, const std::string& ca_pem, const std::string& name,
                                  WallTime at);

/// The certificate and key that are kept as FOLDER/NAME.crt and FOLDER/NAME.key: what is there is used, where
/// neither is they are made (folder included, the key readable by its owner only). One without the other is
/// an error.
Result<class CertificateFiles> kept_certificate(const std::string& folder, const std::string& name,
                                                const CertificateRequest& request, WallTime now);

/// A certificate and its key in two files. Errors name the file.
class CertificateFiles {
 public:
  CertificateFiles(std::string certificate_path, std::string key_path);
  Result<KeyPair> load();
  /// The new pair if the contents have changed since the last successful load() or reload(), nothing
  /// if not. Reads the files: call it every few seconds, off the event loop if the disk may be slow.
  Result<std::optional<KeyPair>> reload();

 private:
  std::string certificate_path_, key_path_;
  KeyPair last_;
};

}  // namespace koord::net
