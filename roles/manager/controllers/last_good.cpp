// The last good configuration in the API server: see last_good.hpp.
#include "controllers/last_good.hpp"

#include <fmt/format.h>

#include "koord/async/backoff.hpp"
#include "koord/async/timer.hpp"

namespace koord::manager {

namespace {

constexpr BackoffPolicy kRetry{
    .initial = std::chrono::milliseconds{200}, .factor = 2, .cap = std::chrono::seconds{60}};

}  // namespace

Task<Result<std::optional<api::ConfigMap>>> LastGood::read() {
  Backoff retry(kRetry);
  for (;;) {
    auto found = co_await parts_.client.get<api::ConfigMap>(parts_.key);
    if (found) {
      stored_ = *std::move(found);
      co_return stored_;
    }
    const Code code = found.error().code();
    if (code == Code::cancelled) co_return found.error();
    if (code == Code::not_found) co_return std::optional<api::ConfigMap>();
    if (code == Code::forbidden || code == Code::parse) {
      parts_.log.warn(
          "the ConfigMap of last good strategies cannot be read: an invalid key of slo-controller-config "
          "falls back to its default",
          kv("configmap", parts_.key.name), kv("error", found.error()));
      co_return std::optional<api::ConfigMap>();
    }
    KOORD_CO_CHECK(co_await sleep(parts_.clock, retry.next()));
  }
}

void LastGood::want(const api::StringMap& texts) {
  wanted_ = texts;
  changed_.set();
}

Task<Result<>> LastGood::keep() {
  Backoff retry(kRetry);
  for (;;) {
    KOORD_CO_CHECK(co_await changed_.wait());
    changed_.reset();
    const Result<> written = co_await write();
    if (written) {
      retry.reset();
      continue;
    }
    if (written.error().code() == Code::cancelled) co_return written;
    if (retry.tries() == 0)
      parts_.log.warn(
          "the ConfigMap of last good strategies could not be written: after a restart an invalid key would "
          "fall back to its default",
          kv("configmap", parts_.key.name), kv("error", written.error()));
    KOORD_CO_CHECK(co_await sleep(parts_.clock, retry.next()));
    changed_.set();
  }
}

Task<Result<>> LastGood::write() {
  if (!parts_.may_write()) co_return Error(Code::unavailable, "the lease is not held");
  if (stored_ ? stored_->data == wanted_ : wanted_.empty()) co_return Result<>();
  api::ConfigMap after = stored_.value_or(api::ConfigMap());
  after.metadata.namespace_ = Symbol(parts_.key.ns);
  after.metadata.name = parts_.key.name;
  after.data = wanted_;
  if (!stored_) {
    auto made = co_await parts_.client.create<api::ConfigMap>(after);
    if (made) {
      stored_ = *std::move(made);
      co_return Result<>();
    }
    if (made.error().code() == Code::already_exists) KOORD_CO_CHECK(co_await read());
    co_return made.error();
  }
  const Result<> patched = co_await parts_.client.patch<api::ConfigMap>(*stored_, after);
  if (patched)
    stored_ = std::move(after);
  else if (patched.error().code() == Code::not_found)
    stored_.reset();
  co_return patched;
}

}  // namespace koord::manager
