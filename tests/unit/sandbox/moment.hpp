// A bound on work for what would take minutes if its cost grew with the square of what a user sends.
#pragma once

#include <catch2/catch.hpp>
#include <ctime>

namespace koord::sandbox {

/// Fails the test if its scope takes more than `limit` seconds of this process' CPU: far more than needed,
/// also under sanitizers, and far less than what grows otherwise would take. A busy machine does not count.
class Moment {
 public:
  explicit Moment(int limit = 20) : limit_(limit) {}
  ~Moment() { CHECK((std::clock() - begin_) / CLOCKS_PER_SEC < limit_); }
  Moment(const Moment&) = delete;
  Moment& operator=(const Moment&) = delete;

 private:
  const int limit_;
  const std::clock_t begin_ = std::clock();
};

}  // namespace koord::sandbox
