// A bound on time for what would take minutes if its cost grew with the square of what a user sends.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>

namespace koord::sandbox {

/// Fails the test if its scope takes longer than `limit`: far more than needed, also under sanitizers on a
/// busy machine, and far less than what grows otherwise would take.
class Moment {
 public:
  explicit Moment(std::chrono::seconds limit = std::chrono::seconds{20}) : limit_(limit) {}
  ~Moment() {
    const auto took = std::chrono::steady_clock::now() - begin_;
    CHECK(std::chrono::duration_cast<std::chrono::milliseconds>(took) < limit_);
  }
  Moment(const Moment&) = delete;
  Moment& operator=(const Moment&) = delete;

 private:
  const std::chrono::seconds limit_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace koord::sandbox
