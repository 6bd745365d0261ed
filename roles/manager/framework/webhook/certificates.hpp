// The certificates of the webhook server: what is good, how they are renewed, and as files.
#pragma once

#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"
#include "koord/net/certificate.hpp"

namespace koord::manager {

/// A CA and what it has issued, in PEM; shared by all replicas. RSA with 2048 bits and PKCS#1, as upstream
/// makes them and is able to read: API servers keep their connections, so that what a signature costs does
/// not show.
struct Certificates {
  net::KeyPair ca, server;

  bool operator==(const Certificates& other) const {
    return ca.certificate_pem == other.ca.certificate_pem && ca.key_pem == other.ca.key_pem &&
           server.certificate_pem == other.server.certificate_pem && server.key_pem == other.server.key_pem;
  }
};

/// Under upstream's names: keys of the Secret and files of the folder. The server's have two names each.
struct CertificateName {
  std::string_view name;
  std::string net::KeyPair::*part;
  bool of_ca;
};
inline constexpr std::array<CertificateName, 6> kCertificateNames = {{
    {"ca-key.pem", &net::KeyPair::key_pem, true},
    {"ca-cert.pem", &net::KeyPair::certificate_pem, true},
    {"key.pem", &net::KeyPair::key_pem, false},
    {"tls.key", &net::KeyPair::key_pem, false},
    {"cert.pem", &net::KeyPair::certificate_pem, false},
    {"tls.crt", &net::KeyPair::certificate_pem, false},
}};
inline std::string& part_of(Certificates& certificates, const CertificateName& name) {
  return (name.of_ca ? certificates.ca : certificates.server).*name.part;
}

/// From the texts under those names, empty where there is none. A part whose two names disagree is empty:
/// others may read the other name.
Certificates certificates_of(const std::array<std::string, kCertificateNames.size()>& texts);

/// Whether API servers that trust the CA believe a server that shows these and is called `name`, at `at`.
Result<> check_certificates(const Certificates& certificates, const std::string& name, WallTime at);

/// A server's certificate is good for a year, and renewed when less than half of one is left; a CA is good
/// for ten years and signs what is renewed while a year of it is left: so its change comes long after the
/// last restart.
inline constexpr std::chrono::hours kServerLife{24 * 365}, kServerLeft{24 * 182};
inline constexpr std::chrono::hours kCaLife{24 * 3650}, kCaLeft{24 * 365};

/// A CA takes another's place without a review being refused: for so long after it was made API servers
/// believe both, and replicas show what it has signed only when API servers had time to hear of it.
inline constexpr std::chrono::minutes kCaOverlap{10};
inline constexpr std::chrono::seconds kCaHeard{2};
/// Whether the CA was made less than kCaOverlap ago; false of what is no CA.
bool is_new_ca(const net::KeyPair& ca, WallTime now);

/// Good at `now` and for as long as a renewal may wait.
Result<> check_lasting(const Certificates& certificates, const std::string& name, WallTime now);

/// New ones for `name`, by the old CA if that is good. Takes a few tenths of a second: not for the event
/// loop.
Result<Certificates> renew_certificates(const Certificates& old, const std::string& name, WallTime now);

/// What a folder holds; what is missing is empty. An error is a file that is there and cannot be read.
Result<Certificates> read_certificates(const std::string& folder);
/// Puts them into the folder, which is made if it is missing, all at once: the files are links into another
/// folder, whose name changes with them, as those of a mounted Secret. Readable by their owner only. Does
/// nothing if they are there.
Result<> write_certificates(const std::string& folder, const Certificates& certificates);

}  // namespace koord::manager
