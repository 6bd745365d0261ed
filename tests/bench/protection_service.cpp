// A latency-sensitive service for the protection benchmark. Open loop: each request has an intended send
// time, set before the run (Poisson arrivals), and its latency counts from there, however late it was begun.
// Workers take the requests in order; one request is a fixed amount of CPU work.
//
// Prints one JSON object: of each phase how many requests, quantiles, and the histogram they come from.
#include <sys/prctl.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "bench/protection_work.hpp"

namespace {

using protection::now_ns;
using protection::wait_until;

constexpr const char* kUsage =
    "usage: protection_service --calibrate\n"
    "       protection_service --units=N --rate=A_SECOND [--workers=8] "
    "[--phases=NAME:SECONDS:FACTOR:MS:EVERY_MS,...]\n"
    "                          [--start=MONOTONIC_NS] [--seed=1]\n"
    "A request is N units of work. A phase sends A_SECOND requests a second, FACTOR times as many in the "
    "first MS of\n"
    "every EVERY_MS milliseconds; phases whose name begins with '-' are not told of. --calibrate prints "
    "units a ms.\n";

/// Counts of latencies in buckets that grow by 1%, from 1 us; the last is everything above 100 s.
class Histogram {
 public:
  static constexpr double kGrowth = 1.01;
  static constexpr std::size_t kBuckets = 1852;

  void add(std::int64_t ns) {
    const double us = std::max(1.0, static_cast<double>(ns) / 1000);
    ++counts_[std::min(kBuckets - 1, static_cast<std::size_t>(std::log(us) / std::log(kGrowth)))];
    sum_us_ += us;
    most_us_ = std::max(most_us_, us);
  }
  void add(const Histogram& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    sum_us_ += other.sum_us_;
    most_us_ = std::max(most_us_, other.most_us_);
  }
  std::int64_t count() const { return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0}); }
  /// The middle of the bucket that has it, in us.
  double quantile(double part) const {
    const auto rank = static_cast<std::int64_t>(std::ceil(part * static_cast<double>(count())));
    std::int64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      seen += counts_[i];
      if (seen >= rank && seen > 0)
        return std::min(most_us_, std::pow(kGrowth, static_cast<double>(i) + 0.5));
    }
    return 0;
  }
  void print() const {
    const auto total = static_cast<double>(std::max<std::int64_t>(1, count()));
    std::printf(
        R"("count":%lld,"mean_us":%.1f,"p50_us":%.1f,"p90_us":%.1f,"p99_us":%.1f,"p999_us":%.1f,"max_us":%.1f,"histogram":[)",
        static_cast<long long>(count()), sum_us_ / total, quantile(0.5), quantile(0.9), quantile(0.99),
        quantile(0.999), most_us_);
    const char* comma = "";
    for (std::size_t i = 0; i < kBuckets; ++i) {
      if (counts_[i] == 0) continue;
      std::printf("%s[%zu,%lld]", comma, i, static_cast<long long>(counts_[i]));
      comma = ",";
    }
    std::printf("]");
  }

 private:
  std::array<std::int64_t, kBuckets> counts_{};
  double sum_us_ = 0, most_us_ = 0;
};

struct Phase {
  std::string name;
  double seconds = 0, factor = 1, burst_ms = 0, every_ms = 1000;
};

std::optional<std::vector<Phase>> phases_of(const std::string& text) {
  std::vector<Phase> phases;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::array<char, 32> name{};
    Phase phase;
    if (std::sscanf(text.substr(at, end - at).c_str(), "%31[^:]:%lf:%lf:%lf:%lf", name.data(), &phase.seconds,
                    &phase.factor, &phase.burst_ms, &phase.every_ms) < 2)
      return std::nullopt;
    phase.name = name.data();
    phases.push_back(phase);
    at = end + 1;
  }
  return phases;
}

struct Request {
  std::int64_t at_ns = 0;  // since the start
  std::size_t phase = 0;
};

/// Poisson arrivals by thinning: candidates at the highest rate, of which the rate of the moment keeps its
/// part.
std::vector<Request> plan(const std::vector<Phase>& phases, double rate, unsigned seed) {
  std::mt19937_64 dice(seed);
  std::vector<Request> requests;
  double began = 0;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const Phase& phase = phases[i];
    const double highest = rate * std::max(1.0, phase.factor);
    std::exponential_distribution<double> gap(highest);
    std::uniform_real_distribution<double> kept(0, highest);
    for (double at = gap(dice); at < phase.seconds; at += gap(dice)) {
      const bool burst = std::fmod(at * 1000, phase.every_ms) < phase.burst_ms;
      if (kept(dice) < (burst ? rate * phase.factor : rate))
        requests.push_back({static_cast<std::int64_t>((began + at) * 1e9), i});
    }
    began += phase.seconds;
  }
  return requests;
}

struct Worker {
  std::vector<Histogram> latencies;  // by phase
  std::vector<std::int64_t> cpu_ns, unfinished;
};

void serve(const protection::Work& work, const std::vector<Request>& requests, std::atomic<std::size_t>& next,
           std::int64_t start, std::int64_t end, std::int64_t units, std::uint64_t place, Worker& worker) {
  prctl(PR_SET_TIMERSLACK, 1);  // the default of 50 us would be the service's own, not the scheduler's
  for (std::size_t i = next++; i < requests.size(); i = next++) {
    const Request& request = requests[i];
    const std::int64_t intended = start + request.at_ns;
    // Nobody is left out: what an overloaded service has not even begun has waited until the end at least.
    if (now_ns() >= end) {
      ++worker.unfinished[request.phase];
      worker.latencies[request.phase].add(end - intended);
      continue;
    }
    wait_until(intended);
    const std::int64_t cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
    work.run(units, place);
    worker.cpu_ns[request.phase] += now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    worker.latencies[request.phase].add(now_ns() - intended);
  }
}

void report(const std::vector<Phase>& phases, const std::vector<Worker>& workers) {
  std::printf("{");
  const char* comma = "";
  for (std::size_t i = 0; i < phases.size(); ++i) {
    if (phases[i].name.starts_with('-')) continue;
    Histogram all;
    std::int64_t cpu = 0, unfinished = 0;
    for (const Worker& worker : workers) {
      all.add(worker.latencies[i]);
      cpu += worker.cpu_ns[i];
      unfinished += worker.unfinished[i];
    }
    const std::int64_t served = std::max<std::int64_t>(1, all.count() - unfinished);
    std::printf(R"(%s"%s":{"seconds":%g,"unfinished":%lld,"request_cpu_us":%.1f,)", comma,
                phases[i].name.c_str(), phases[i].seconds, static_cast<long long>(unfinished),
                static_cast<double>(cpu) / 1000 / static_cast<double>(served));
    all.print();
    std::printf("}");
    comma = ",";
  }
  std::printf("}\n");
}

}  // namespace

int main(int argc, char** argv) {
  const auto given = protection::options(argc, argv,
                                         {{"--calibrate", ""},
                                          {"--units", "0"},
                                          {"--rate", "0"},
                                          {"--workers", "8"},
                                          {"--phases", "steady:1"},
                                          {"--start", "0"},
                                          {"--seed", "1"}});
  const protection::Work work;
  if (given && given->at("--calibrate") == "yes") {
    std::printf("%.1f\n", work.calibrate());
    return 0;
  }
  const auto phases = given ? phases_of(given->at("--phases")) : std::nullopt;
  const std::int64_t units = given ? std::atoll(given->at("--units").c_str()) : 0;
  const double rate = given ? std::atof(given->at("--rate").c_str()) : 0;
  const int count = given ? std::atoi(given->at("--workers").c_str()) : 0;
  if (!phases || phases->empty() || units <= 0 || rate <= 0 || count <= 0) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const std::vector<Request> requests =
      plan(*phases, rate, static_cast<unsigned>(std::atoi(given->at("--seed").c_str())));
  std::vector<Worker> workers(static_cast<std::size_t>(count));
  for (Worker& worker : workers) {
    worker.latencies.resize(phases->size());
    worker.cpu_ns.resize(phases->size());
    worker.unfinished.resize(phases->size());
  }
  const std::int64_t wanted = std::atoll(given->at("--start").c_str());
  const std::int64_t start = wanted > 0 ? wanted : now_ns() + 10'000'000;
  double seconds = 0;
  for (const Phase& phase : *phases) seconds += phase.seconds;
  const std::int64_t end = start + static_cast<std::int64_t>(seconds * 1e9);
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < workers.size(); ++i)
    threads.emplace_back([&, i] { serve(work, requests, next, start, end, units, i * 7919, workers[i]); });
  for (std::thread& thread : threads) thread.join();
  report(*phases, workers);
}
