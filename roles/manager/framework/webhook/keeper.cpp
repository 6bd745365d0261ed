// WebhookKeeper: passes over the Secret and the configurations, and when the next one is.
#include "framework/webhook/keeper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "framework/webhook/configuration.hpp"
#include "koord/api/types/admissionregistration_v1/webhook_configuration.hpp"
#include "koord/api/types/core_v1/secret.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/base64.hpp"
#include "koord/json/writer.hpp"

namespace koord::manager {

namespace {

/// After passes that wrote, unless it was quiet for longer than the last rest: two versions that do not agree
/// must not keep the API server busy. The first few in a row are soon followed by the next, so that what
/// somebody replaces is right again within a second.
constexpr nanoseconds kQuickRest = std::chrono::milliseconds{200};
constexpr int kQuickRests = 10;
constexpr BackoffPolicy kPace{
    .initial = std::chrono::seconds{1}, .factor = 4, .cap = std::chrono::seconds{60}};
constexpr BackoffPolicy kRetry{
    .initial = std::chrono::milliseconds{200}, .factor = 2, .cap = std::chrono::seconds{30}, .jitter = 0.5};

/// What the Secret holds; what is missing or no base64 is empty.
Certificates read_secret(const json::Value& secret) {
  std::array<std::string, kCertificateNames.size()> texts;
  if (const json::Value* data = json::find(secret, "data"))
    for (std::size_t i = 0; i < texts.size(); ++i)
      texts[i] = decode_base64(json::text_at(*data, kCertificateNames[i].name)).value_or("");
  return certificates_of(texts);
}

void write_secret(json::Document& secret, Certificates certificates) {
  json::Value& data = json::object_at(secret, "data", secret.arena());
  for (const CertificateName& each : kCertificateNames)
    json::set_text(data, each.name, encode_base64(part_of(certificates, each)), secret.arena());
}

}  // namespace

WebhookKeeper::WebhookKeeper(Config config) : config_(std::move(config)) {}

Result<> WebhookKeeper::ready() const {
  if (!initialised_ || !held_) return Error(Code::unavailable, problem_);
  return check_certificates(*held_, "localhost", config_.clock.now());
}

Task<Result<>> WebhookKeeper::run() {
  for (kube::AnyInformer& each : config_.watched) each.deliver_to(queue_);
  Backoff pace(kPace), retry(kRetry);
  const nanoseconds period = config_.settings.in_secret ? kPeriod : kFolderPeriod;
  nanoseconds rest{0};
  int quick = 0;
  MonoTime rested = config_.clock.mono();
  for (;;) {
    wrote_ = false;
    const Result<bool> done = co_await pass();
    nanoseconds wait = period;
    if (done) {
      initialised_ = true;
      problem_.clear();
      retry.reset();
    } else {
      if (done.error().code() == Code::cancelled || done.error().code() == Code::internal)
        co_return done.error();
      tell(done.error());
      wait = retry.next();
    }
    if (wrote_) {
      if (config_.clock.mono() - rested > 2 * rest + std::chrono::seconds{1}) {
        pace.reset();
        quick = 0;
      }
      rest = quick < kQuickRests ? kQuickRest : pace.next();
      ++quick;
      KOORD_CO_CHECK(co_await sleep(config_.clock, rest));
      rested = config_.clock.mono();
    }
    if (heard_at_) wait = std::clamp(*heard_at_ - config_.clock.mono(), nanoseconds{1}, wait);
    const Result<kube::Batch> woken = co_await with_timeout(config_.clock, wait, queue_.next());
    if (!woken && woken.error().code() != Code::timeout) co_return woken.error();
  }
}

void WebhookKeeper::tell(const Error& failure) {
  // A conflict is another replica's write: the next pass sees it.
  const bool race = failure.code() == Code::conflict || failure.code() == Code::already_exists;
  if (!race && problem_ != failure.message())
    config_.log.warn(
        "webhook certificates or configurations could not be brought up to date: what is served stays in "
        "effect, tried again with a backoff",
        kv("error", failure));
  problem_ = failure.message();
}

Task<Result<bool>> WebhookKeeper::pass() {
  Result<Certificates> wanted = config_.settings.in_secret ? co_await from_secret() : co_await from_folder();
  if (!wanted) co_return wanted.error();
  if (!held_ || !(*held_ == *wanted)) {
    const bool other_ca = held_ && held_->ca.certificate_pem != wanted->ca.certificate_pem;
    if (other_ca && check_certificates(*held_, config_.settings.server_name(), config_.clock.now()) &&
        is_new_ca(wanted->ca, config_.clock.now())) {
      // What is served is good: it stays until API servers believe the other CA too. Passes go on meanwhile.
      KOORD_CO_TRY(written, co_await keep_all(wanted->ca));
      if (!heard_at_ || announced_ != wanted->ca.certificate_pem) {
        announced_ = wanted->ca.certificate_pem;
        heard_at_ = config_.clock.mono() + kCaHeard;
      }
      if (config_.clock.mono() < *heard_at_) co_return written;
    }
    heard_at_.reset();
    if (const Result<> served = config_.serve(*wanted); !served)
      co_return Error(Code::internal, served.error().message());
    if (other_ca) before_ = std::move(held_->ca.certificate_pem);
    held_ = std::move(*wanted);
    config_.log.info("the webhooks are served with new certificates",
                     kv("name", config_.settings.server_name()));
  }
  if (config_.settings.in_secret) co_await write_folder();
  co_return co_await keep_all(held_->ca);
}

Task<Result<bool>> WebhookKeeper::keep_all(const net::KeyPair& ca) {
  KOORD_CO_TRY(first, co_await keep(api::kind<api::MutatingWebhookConfiguration>(), config_.settings.mutating,
                                    ca, config_.mutating_entries));
  KOORD_CO_TRY(second, co_await keep(api::kind<api::ValidatingWebhookConfiguration>(),
                                     config_.settings.validating, ca, config_.validating_entries));
  co_return first || second;
}

Task<Result<Certificates>> WebhookKeeper::renew(const Certificates& old, const Error& why) {
  if (spare_ && check_lasting(*spare_, config_.settings.server_name(), config_.clock.now()))
    co_return *spare_;
  config_.log.info("new certificates are made for the webhooks", kv("reason", why));
  std::function<Result<Certificates>()> make = [&old, name = config_.settings.server_name(),
                                                now = config_.clock.now()] {
    return renew_certificates(old, name, now);
  };
  co_return co_await offload(config_.workers, std::move(make));
}

/// What is about to expire is served until there are others.
Task<Result<Certificates>> WebhookKeeper::from_secret() {
  const api::Kind& kind = api::kind<api::Secret>();
  const kube::ObjectKey key{config_.settings.ns, config_.settings.secret};
  Result<std::string> text = co_await config_.client.get_raw(kind, key);
  if (!text && text.error().code() != Code::not_found) co_return text.error();
  json::Document secret;
  if (text) {
    KOORD_CO_CHECK(secret.read(*text));
  } else {
    secret.set_object();
    json::set_text(secret, "apiVersion", "v1", secret.arena());
    json::set_text(secret, "kind", "Secret", secret.arena());
    json::Value& metadata = json::object_at(secret, "metadata", secret.arena());
    json::set_text(metadata, "namespace", key.ns, secret.arena());
    json::set_text(metadata, "name", key.name, secret.arena());
  }
  Certificates found = read_secret(secret);
  const Result<> good = check_lasting(found, config_.settings.server_name(), config_.clock.now());
  if (text && good) {
    spare_.reset();
    co_return found;
  }
  KOORD_CO_TRY(made, co_await renew(found, text ? good.error() : text.error()));
  write_secret(secret, made);
  wrote_ = true;
  Result<std::string> written = text
                                    ? co_await config_.client.update_raw(kind, key, json::to_text(secret))
                                    : co_await config_.client.create_raw(kind, key.ns, json::to_text(secret));
  if (written) co_return made;
  const Code code = written.error().code();
  if (code != Code::conflict && code != Code::already_exists) spare_ = std::move(made);
  const Error failure = std::move(written).error().context(fmt::format("Secret {}/{}", key.ns, key.name));
  if (!check_certificates(found, config_.settings.server_name(), config_.clock.now())) co_return failure;
  tell(failure);
  co_return found;
}

Task<Result<Certificates>> WebhookKeeper::from_folder() {
  const std::string& folder = config_.settings.folder;
  std::function<Result<Certificates>()> read = [&] { return read_certificates(folder); };
  KOORD_CO_TRY(found, co_await offload(config_.workers, std::move(read)));
  const Result<> good = check_lasting(found, config_.settings.server_name(), config_.clock.now());
  if (good) co_return std::move(found);
  KOORD_CO_TRY(made, co_await renew(found, good.error()));
  std::function<Result<bool>()> write = [&] {
    Result<bool> done{true};
    if (Result<> written = write_certificates(folder, made); !written) done = std::move(written).error();
    return done;
  };
  KOORD_CO_CHECK(co_await offload(config_.workers, std::move(write)));
  co_return std::move(made);
}

/// Nothing of koord's reads it: where the disk cannot be written that is said once.
Task<> WebhookKeeper::write_folder() {
  std::function<Result<bool>()> write = [this] {
    Result<bool> done{true};
    if (Result<> written = write_certificates(config_.settings.folder, *held_); !written)
      done = std::move(written).error();
    return done;
  };
  const Result<bool> written = co_await offload(config_.workers, std::move(write));
  if (!written && !folder_failed_)
    config_.log.warn("the certificates cannot be written as files (WEBHOOK_CERT_DIR)",
                     kv("error", written.error()));
  folder_failed_ = !written;
}

Task<Result<bool>> WebhookKeeper::keep(const api::Kind& kind, const std::string& name, const net::KeyPair& ca,
                                       const json::Value& own) {
  const auto say_once = [this](const std::string& what) {
    if (std::ranges::find(told_, what) != told_.end()) return false;
    told_.push_back(what);
    return true;
  };
  const kube::ObjectKey key{"", name};
  Result<std::string> text = co_await config_.client.get_raw(kind, key);
  if (!text && text.error().code() == Code::not_found) {
    asking_.erase(name);
    if (say_once(name))
      config_.log.warn("there is no such webhook configuration: nobody asks its webhooks",
                       kv("kind", kind.kind), kv("name", name));
    co_return false;
  }
  if (!text) co_return text.error();
  std::erase(told_, name);
  json::Document document;
  KOORD_CO_CHECK(document.read(*text));
  // Beside a new CA the one before it is believed: what is in the configuration may be somebody's who does
  // not know it.
  const bool overlap = is_new_ca(ca, config_.clock.now());
  std::string believed = ca.certificate_pem;
  if (overlap)
    believed +=
        held_ && held_->ca.certificate_pem != ca.certificate_pem ? held_->ca.certificate_pem : before_;
  const KeptConfiguration kept = keep_configuration(document, config_.settings, believed, overlap,
                                                    config_.served, own, !unconditional_.contains(name));
  if (!kept.unconditional) unconditional_.erase(name);
  for (const std::string& entry : kept.left_out)
    if (say_once(fmt::format("{}/{}", name, entry)))
      config_.log.info("nobody serves an entry of the webhook configuration: it is taken out",
                       kv("configuration", name), kv("entry", entry));
  if (kept.migrated)
    config_.log.info("the entries of koord's first manifests, with failurePolicy Fail, are replaced",
                     kv("configuration", name), kv("failurePolicy", config_.settings.pods_policy));
  if (kept.template_lost)
    config_.log.warn("the annotation \"template\" cannot be read: the entries that are there take its place",
                     kv("configuration", name));
  const json::Value* const entries = json::find(document, "webhooks");
  if (entries != nullptr && !entries->empty())
    asking_.insert(name);
  else
    asking_.erase(name);
  if (kept.unconditional && !kept.changed && say_once(fmt::format("{}: conditions", name)))
    config_.log.warn(
        "the API server drops matchConditions, as those before Kubernetes 1.28 do: every update "
        "of a pod is asked about",
        kv("configuration", name));
  if (!kept.changed) co_return false;
  wrote_ = true;
  auto written = co_await config_.client.update_raw(kind, key, json::to_text(document));
  if (!written) co_return std::move(written).error().context(name);
  if (kept.unconditional) unconditional_.insert(name);
  config_.log.info("a webhook configuration was put right", kv("configuration", name));
  co_return true;
}

}  // namespace koord::manager
