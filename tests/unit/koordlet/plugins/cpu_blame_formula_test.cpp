// The control loop of CPU blame on a fake clock: synthetic signals, lies, and machines that answer a quota
// with a delay and noise.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "plugins/cpu_blame/formula.hpp"

namespace koord::koordlet {
namespace {

using cpu_blame::State;
using cpu_blame::Steering;
using cpu_blame::Terms;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr double kTarget = 1000;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A second in which others waited: `part` of it because of best-effort work, half of that behind each other.
BlamedWaits waits(double p99_us, std::uint64_t count = 1000, double part = 0.5) {
  BlamedWaits blamed{.period = seconds(1),
                     .waits = count,
                     .caused_seconds = part,
                     .best_effort_p99_us = p99_us,
                     .fit = true};
  blamed.seconds[static_cast<std::size_t>(Runner::best_effort)] = part / 2;
  blamed.seconds[static_cast<std::size_t>(Runner::ls)] = 1 - part / 2;
  return blamed;
}

/// The loop, a second at a time, on 16 CPUs of which best-effort work wants all.
struct Loop {
  Steering steering;
  Terms terms{.target_us = kTarget, .machine_milli = 16'000, .least_milli = 800, .most_milli = 16'000};
  MonoTime at{seconds(1000)};
  std::uint64_t reading = 0;
  double wants_milli = 16'000;
  std::optional<double> used;

  double limit() const {
    return static_cast<double>(
        steering.limit_milli().value_or(std::min(terms.machine_milli, terms.most_milli)));
  }
  void step(const BlamedWaits* blamed) {
    at += seconds(1);
    const double before = limit();
    const auto cuts = steering.tightened();
    steering.step(terms,
                  {.at = at, .blamed = blamed, .used_milli = used.value_or(std::min(wants_milli, limit()))});
    const double most = static_cast<double>(std::min(terms.machine_milli, terms.most_milli));
    // Whatever it is told: never below the least, never above the most, never more than a tenth up, and down
    // only in steps that are counted.
    REQUIRE(limit() >= std::min<double>(static_cast<double>(terms.least_milli), most));
    REQUIRE(limit() <= most);
    if (terms.most_milli == terms.machine_milli && at > MonoTime(seconds(1001))) {
      REQUIRE(limit() <= before + 0.101 * most);
      REQUIRE((limit() >= before || steering.tightened() == cuts + 1));
    }
  }
  void see(BlamedWaits blamed) {
    blamed.reading = ++reading;
    step(&blamed);
  }
  void see(double p99_us, std::uint64_t count = 1000, double part = 0.5) { see(waits(p99_us, count, part)); }
  void times(int count, double p99_us, std::uint64_t waits = 1000, double part = 0.5) {
    for (int i = 0; i < count; ++i) see(p99_us, waits, part);
  }
};

// --- one signal

TEST_CASE("A step: half is taken when it is seen twice", "[koordlet][blame]") {
  Loop loop;
  loop.times(5, 100);
  CHECK(loop.steering.state() == State::calm);
  CHECK_FALSE(loop.steering.limit_milli());
  loop.see(20'000);
  CHECK_FALSE(loop.steering.limit_milli());  // may be chance
  loop.see(20'000);
  CHECK(loop.steering.limit_milli() == 8000);
  CHECK(loop.steering.state() == State::tightened);
  loop.see(20'000);  // may still tell of before
  CHECK(loop.limit() == 8000);
  loop.see(1250);  // helped; a little above may be chance
  CHECK(loop.limit() == 8000);
  loop.see(1250);
  CHECK(loop.limit() == Approx(6767).margin(5));
  loop.times(30, 700);
  CHECK(loop.limit() == Approx(6767).margin(5));
  CHECK(loop.steering.state() == State::holding);
}

TEST_CASE("What is taken is less than what best-effort work really used", "[koordlet][blame]") {
  Loop loop;
  loop.wants_milli = 2000;
  loop.times(3, 100);
  loop.times(2, 20'000);
  CHECK(loop.limit() == 1000);
  SECTION("and never less than the minimum") {
    Loop small;
    small.wants_milli = 1000;
    small.times(3, 100);
    small.times(2, 20'000);
    CHECK(small.limit() == 800);
    small.times(2, 20'000);
    CHECK(small.steering.at_minimum());
  }
  SECTION("of what uses no more than the minimum nothing is taken") {
    Loop least;
    least.wants_milli = 800;
    least.times(3, 100);
    least.times(60, 20'000);
    CHECK_FALSE(least.steering.limit_milli());
  }
  SECTION("lately, not an hour ago") {
    Loop less;
    less.times(3, 100);
    less.wants_milli = 4000;
    less.times(3, 100);
    less.times(2, 20'000);
    CHECK(less.limit() == 2000);
  }
  SECTION("where its use is not known, than what it may use") {
    Loop blind;
    blind.used = kNan;
    blind.times(3, 100);
    blind.times(2, 20'000);
    CHECK(blind.limit() == 8000);
  }
}

TEST_CASE("It grows slowly below half of the target, and holds in between", "[koordlet][blame]") {
  Loop loop;
  loop.times(3, 100);
  loop.times(2, 20'000);
  loop.see(100);
  const double low = loop.limit();
  loop.times(10, 501);
  CHECK(loop.limit() == low);
  loop.times(5, 499);
  CHECK(loop.limit() > low + 3 * 320);
  CHECK(loop.limit() < low + 6 * 320);
  CHECK(loop.steering.state() == State::growing);
  // Up to nine tenths of what was too much; from ten seconds after the cut on, until nothing is held back.
  loop.times(100, 100);
  CHECK_FALSE(loop.steering.limit_milli());
  CHECK(loop.steering.state() == State::calm);
}

TEST_CASE("One bad second does not cost much", "[koordlet][blame]") {
  Loop loop;
  loop.times(10, 50);
  loop.times(2, 20'000);
  double lost = 0;
  for (int i = 0; i < 60; ++i) {
    loop.see(50);
    lost += 1 - loop.limit() / 16'000;
  }
  CHECK(lost < 6);  // seconds of the machine
  CHECK_FALSE(loop.steering.limit_milli());
}

TEST_CASE("What was too much is tried again ever more rarely", "[koordlet][blame]") {
  Loop loop;
  loop.wants_milli = 16'000;
  std::vector<MonoTime> passed;
  for (int i = 0; i < 3600; ++i) {
    const bool much = loop.limit() > 7000;
    const auto before = loop.steering.tightened();
    loop.see(much ? 1400 : 200);
    if (loop.steering.tightened() > before) passed.push_back(loop.at);
    if (i > 60) {
      CHECK(loop.limit() > 4000);
      CHECK(loop.limit() < 8000);
    }
  }
  // Once in five minutes in the end.
  CHECK(passed.size() < 30);
  REQUIRE(passed.size() > 8);
  CHECK(passed.back() - passed[passed.size() - 2] >= seconds(300));
}

TEST_CASE("Who waits for their own kind costs best-effort work nothing", "[koordlet][blame]") {
  Loop loop;
  loop.times(5, 100);
  SECTION("overloaded, with a part of best-effort work in long waits") {
    for (const double part : {0.0, 0.01, 0.05, 0.09}) loop.times(60, 50'000, 5000, part);
    CHECK_FALSE(loop.steering.limit_milli());
    CHECK(loop.steering.tightened() == 0);
  }
  SECTION("nobody ran, as where their own quota is used up: that hides nothing") {
    BlamedWaits blamed = waits(20'000, 1000, 0.5);
    blamed.seconds[static_cast<std::size_t>(Runner::nobody)] = 1e5;
    loop.see(blamed);
    loop.see(blamed);
    CHECK(loop.limit() == 8000);
  }
  SECTION("it gets back what was taken before") {
    loop.times(2, 20'000);
    CHECK(loop.limit() == 8000);
    loop.times(120, 50'000, 5000, 0.02);
    CHECK_FALSE(loop.steering.limit_milli());
  }
}

TEST_CASE("Waits by own quotas are not those that best-effort work's part is of", "[koordlet][blame]") {
  BlamedWaits blamed{.period = std::chrono::seconds(1), .waits = 1000, .caused_seconds = 0.3, .fit = true};
  blamed.seconds[static_cast<std::size_t>(Runner::ls)] = 10;
  const auto part = [&] {
    cpu_blame::Pool pool;
    pool.add(blamed);
    return pool.take()->part;
  };
  CHECK(part() == Approx(0.03));
  blamed.own_quota_seconds = 9;
  CHECK(part() == Approx(0.3));
  blamed.own_quota_seconds = 11;  // more than there is
  CHECK(part() == 0);
  blamed.own_quota_seconds = kNan;
  CHECK_FALSE(cpu_blame::why_unfit(&blamed).empty());
}

TEST_CASE("A few waits are no p99", "[koordlet][blame]") {
  Loop loop;
  loop.times(5, 100);
  SECTION("of twelve a second, ten seconds are judged together") {
    loop.times(17, 20'000, 12);
    CHECK_FALSE(loop.steering.limit_milli());
    loop.see(20'000, 12);
    CHECK(loop.limit() == 8000);
  }
  SECTION("of three a second only their mean") {
    const double mean_us = GENERATE(500.0, 5000.0);
    BlamedWaits blamed = waits(50'000, 3);
    blamed.caused_seconds = 3 * mean_us / 1e6;
    blamed.seconds = {0, 0, 3 * mean_us / 1e6};  // all of it behind each other
    for (int i = 0; i < 20; ++i) loop.see(blamed);
    CHECK((loop.limit() < 9000) == (mean_us > kTarget));
  }
  SECTION("one a second is nobody") {
    loop.times(120, 50'000, 1);
    CHECK_FALSE(loop.steering.limit_milli());
  }
}

TEST_CASE("Silence: what was held back is handed over step by step", "[koordlet][blame]") {
  Loop loop;
  loop.times(3, 100);
  loop.times(2, 20'000);
  loop.times(8, 600);
  const double low = loop.limit();
  BlamedWaits stale = waits(600);
  stale.reading = loop.reading;
  BlamedWaits unfit = waits(600);
  unfit.fit = false;
  unfit.why_unfit = "4 events were lost";
  const std::string how = GENERATE("null", "unfit", "stale", "no period");
  BlamedWaits timeless = waits(600);
  timeless.period = {};
  const auto silence = [&](int times) {
    for (int i = 0; i < times; ++i) {
      if (how == "null") {
        loop.step(nullptr);
      } else if (how == "stale") {
        loop.step(&stale);
      } else {
        loop.see(how == "unfit" ? unfit : timeless);
      }
    }
  };
  silence(2);
  CHECK(loop.limit() == low);
  silence(1);
  CHECK(loop.limit() == Approx(low + 1600));
  CHECK(loop.steering.state() == State::waiting);
  CHECK_FALSE(loop.steering.why().empty());
  if (how == "unfit") CHECK(loop.steering.why() == "4 events were lost");
  SECTION("and then all is") {
    silence(10);
    CHECK_FALSE(loop.steering.limit_milli());
    loop.times(2, 20'000);  // the first still tells of before
    CHECK(loop.limit() == 8000);
  }
  SECTION("or it goes on from there") {
    loop.times(5, 600);
    CHECK(loop.limit() == Approx(low + 1600));
    CHECK(loop.steering.state() == State::holding);
  }
}

TEST_CASE("Ticks that are far apart are no silence", "[koordlet][blame]") {
  Steering steering;
  const Terms terms{.target_us = kTarget, .machine_milli = 4000, .least_milli = 200, .most_milli = 4000};
  MonoTime at{seconds(1000)};
  for (std::uint64_t i = 1; i < 20; ++i) {
    BlamedWaits blamed = waits(i < 10 ? 20'000 : 700);
    blamed.reading = i;
    at += seconds(10);
    steering.step(
        terms, {.at = at, .blamed = i % 2 ? &blamed : nullptr, .used_milli = 2000, .interval = seconds(10)});
    if (i > 1) CHECK(steering.state() != State::waiting);
  }
  CHECK(steering.limit_milli());
}

TEST_CASE("What an agent before held back stays until there was time for a reading", "[koordlet][blame]") {
  Loop loop;
  loop.steering.begin_at(3000);
  for (int i = 0; i < 3; ++i) loop.step(nullptr);
  CHECK(loop.limit() == 3000);
  SECTION("none came") {
    for (int i = 0; i < 10; ++i) loop.step(nullptr);
    CHECK_FALSE(loop.steering.limit_milli());
  }
  SECTION("one came") {
    loop.times(30, 700);
    CHECK(loop.limit() == 3000);
  }
}

// --- what does not help

TEST_CASE("A p99 that does not react: it stops, gives back, and tries again ever more rarely",
          "[koordlet][blame]") {
  const double p99 = GENERATE(1200.0, 3000.0, 1e6);
  Loop loop;
  loop.times(3, 100);
  std::vector<MonoTime> found;
  double limited = 0, lowest = 16'000;
  for (int i = 0; i < 7200; ++i) {
    const auto before = loop.steering.given_back();
    loop.see(p99);
    if (loop.steering.given_back() > before) found.push_back(loop.at);
    limited += 1 - loop.limit() / 16'000;
    lowest = std::min(lowest, loop.limit());
  }
  CAPTURE(p99, found.size(), lowest);
  REQUIRE(found.size() >= 3);
  CHECK(found.front() - MonoTime(seconds(1000)) < seconds(60));
  CHECK(found.size() < 12);
  for (std::size_t i = 2; i + 1 < found.size(); ++i)
    CHECK(found[i + 1] - found[i] > std::min<nanoseconds>((found[i] - found[i - 1]) * 3 / 2, minutes(31)));
  // What it costs best-effort work: less than a twentieth of two hours.
  CHECK(limited / 7200 < 0.05);
}

TEST_CASE("A p99 that is all or nothing from second to second, whatever the quota", "[koordlet][blame]") {
  // As seen on a real kernel, where work that comes back from being throttled begins anew.
  const double share = GENERATE(0.3, 0.6, 0.9);
  Loop loop;
  std::mt19937_64 dice(9);
  std::bernoulli_distribution bad(share);
  double given = 0;
  for (int i = 0; i < 7200; ++i) {
    loop.see(bad(dice) ? 10'000 : 80);
    given += loop.limit() / 16'000;
  }
  CAPTURE(share, loop.steering.tightened(), loop.steering.given_back());
  // Where most seconds are good it takes the bad ones for something that it did: a weakness.
  CHECK(given / 7200 > (share < 0.5 ? 0.25 : 0.85));
}

TEST_CASE("More load while it tightens looks like no effect, and is found out", "[koordlet][blame]") {
  Loop loop;
  loop.times(3, 100);
  // What is waited is in proportion to best-effort work, and to a load that grows with each cut.
  double load = 5000, most = 0;
  for (int i = 0; i < 600; ++i) {
    if (loop.steering.given_back() == 0 && i < 12) load *= 1.6;
    loop.see(load * loop.limit() / 16'000);
    if (i >= 30) most = std::max(most, loop.limit());
  }
  CHECK(loop.steering.given_back() >= 1);
  CHECK(most <= 4000);
  CHECK(loop.limit() < 2000);
}

// --- lies

TEST_CASE("Lies: whatever is read, the bounds hold", "[koordlet][blame]") {
  std::mt19937_64 dice(16);
  const double numbers[] = {kNan, -1, kInfinity, -kInfinity, 0, 1e-300, 1e300, 1000, 5000, 20'000, 300};
  const std::uint64_t counts[] = {0, 1, 50, 1000, std::numeric_limits<std::uint64_t>::max()};
  const nanoseconds periods[] = {{},         seconds(-1), milliseconds(1),
                                 seconds(1), seconds(2),  nanoseconds::max()};
  const auto any = [&dice](const auto& of) { return of[dice() % std::size(of)]; };
  for (int run = 0; run < 200; ++run) {
    Loop loop;
    for (int i = 0; i < 200; ++i) {
      BlamedWaits blamed;
      blamed.best_effort_p99_us = any(numbers);
      blamed.waits = any(counts);
      blamed.caused_seconds = dice() % 2 ? 0.5 : any(numbers);
      blamed.period = dice() % 2 ? seconds(1) : any(periods);
      for (double& waited : blamed.seconds) waited = dice() % 4 ? 0.5 : any(numbers);
      blamed.fit = dice() % 8 != 0;
      blamed.reading = dice() % 4 ? ++loop.reading : dice();  // jumps back and forth
      loop.used = dice() % 2 ? any(numbers) : 8000;
      if (dice() % 16 == 0) loop.terms.most_milli = static_cast<std::int64_t>(dice() % 20'000) - 2000;
      loop.step(dice() % 10 ? &blamed : nullptr);
      REQUIRE(std::isfinite(loop.limit()));
    }
  }
}

TEST_CASE("A counter that jumps back is one reading that does not count", "[koordlet][blame]") {
  Loop loop;
  loop.times(5, 100);
  loop.reading = 0;
  loop.see(20'000);
  CHECK_FALSE(loop.steering.limit_milli());
  loop.times(2, 20'000);
  CHECK(loop.limit() == 8000);
}

TEST_CASE("A p99 that swings by itself: bounded, and it comes back", "[koordlet][blame]") {
  const int period = GENERATE(2, 7, 20, 60);
  Loop loop;
  for (int i = 0; i < 1800; ++i) loop.see(i / period % 2 ? 8000 : 100);
  loop.times(600, 100);
  CHECK_FALSE(loop.steering.limit_milli());
}

// --- machines

/// What others wait because of best-effort work that uses `used` of what it wants: a power of it, told with a
/// delay and noise, in buckets of four an octave.
struct Machine {
  double full_us, power, noise;
  int delay;
  std::int64_t cpus;
  std::mt19937_64 dice;
  std::deque<double> on_the_way = {};

  double true_us(double used, double wanted) const { return full_us * std::pow(used / wanted, power); }
  double told(double now_us) {
    on_the_way.push_back(now_us);
    if (static_cast<int>(on_the_way.size()) > delay + 1) on_the_way.pop_front();
    std::normal_distribution<double> normal(0, noise);
    const double us = on_the_way.front() * std::exp(normal(dice));
    return std::exp2(std::ceil(std::log2(us) * 4) / 4);
  }
};

TEST_CASE("Many machines: it settles within a minute, and stays there", "[koordlet][blame]") {
  std::mt19937_64 dice(161);
  const auto uniform = [&dice](double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(dice);
  };
  for (int run = 0; run < 400; ++run) {
    Machine machine{.full_us = kTarget * std::exp2(uniform(1.5, 6)),
                    .power = uniform(0.7, 3),
                    .noise = uniform(0, 0.2),
                    .delay = static_cast<int>(dice() % 3),
                    .cpus = std::int64_t{2} << (dice() % 7),
                    .dice = std::mt19937_64(dice())};
    Loop loop;
    const double all = static_cast<double>(machine.cpus) * 1000;
    loop.terms = {.target_us = kTarget,
                  .machine_milli = machine.cpus * 1000,
                  .least_milli = machine.cpus * 20,
                  .most_milli = machine.cpus * 1000};
    const double wants = loop.wants_milli = all * uniform(0.3, 1);
    CAPTURE(run, machine.full_us, machine.power, machine.noise, machine.delay, machine.cpus, wants);
    // What the target allows.
    const double allowed = wants * std::pow(kTarget / machine.full_us, 1 / machine.power);
    if (allowed < all * 0.025) continue;  // the minimum already costs others more
    constexpr int kSettled = 60, kSeconds = 1200;
    int passed = 0;
    double lowest = all, highest = 0;
    for (int i = 0; i < kSeconds; ++i) {
      loop.see(machine.told(machine.true_us(std::min(wants, loop.limit()), wants)));
      if (i < kSettled) continue;
      const double used = std::min(wants, loop.limit());
      passed += machine.true_us(used, wants) > kTarget * 1.25 ? 1 : 0;
      lowest = std::min(lowest, used / allowed);
      highest = std::max(highest, used / allowed);
    }
    CHECK(lowest > 0.33);
    CHECK(highest < 1.5);
    CHECK(passed < 0.03 * (kSeconds - kSettled));
    CHECK(loop.steering.given_back() == 0);
  }
}

TEST_CASE("A machine on which the minimum is too much stays close to the minimum", "[koordlet][blame]") {
  Loop loop;
  Machine machine{.full_us = 64 * kTarget, .power = 1, .noise = 0.1, .delay = 1, .cpus = 16, .dice = {}};
  double given = 0;
  for (int i = 0; i < 1800; ++i) {
    loop.see(machine.told(machine.true_us(loop.limit(), 16'000)));
    if (i < 60) continue;
    CHECK(loop.limit() < 2400);
    given += loop.limit();
  }
  CHECK(given / 1740 < 1300);
}

TEST_CASE("What a service waits by itself is not chased", "[koordlet][blame]") {
  // The target cannot be reached: most of what is told has nothing to do with what best-effort work uses.
  const double own = GENERATE(3.0, 10.0), noise = GENERATE(0.0, 0.15);
  Loop loop;
  std::mt19937_64 dice(3);
  std::normal_distribution<double> normal(0, noise);
  double given = 0;
  for (int i = 0; i < 3600; ++i) {
    loop.see(kTarget * (own + 2 * loop.limit() / 16'000) * std::exp(noise > 0 ? normal(dice) : 0));
    if (i >= 120) given += loop.limit();
  }
  CHECK(given / 3480 > 5000);
}

/// A second of a service: of 1000 waits a part, in proportion to what best-effort work uses, lasts for a
/// while because of it; the p99 is that of the sample, noise and all.
double sampled_us(std::mt19937_64& dice, double part, double mean_us) {
  std::vector<double> waited(1000, 0);
  std::bernoulli_distribution hit(std::min(part, 1.0));
  std::exponential_distribution<double> lasts(1 / mean_us);
  for (double& one : waited)
    if (hit(dice)) one = lasts(dice);
  std::nth_element(waited.begin(), waited.begin() + 989, waited.end());
  const double us = waited[989];
  return us > 1 ? std::exp2(std::ceil(std::log2(us) * 4) / 4) : 0;
}

TEST_CASE("A service that best-effort work displaces: the tail of a sample", "[koordlet][blame]") {
  std::mt19937_64 dice(5);
  const double part = GENERATE(0.05, 0.25, 0.8), mean_us = GENERATE(600.0, 2000.0, 8000.0);
  Loop loop;
  const double allowed =
      16'000 * std::exp(kTarget / mean_us) * 0.01 / part;  // where the true p99 is the target
  double given = 0, lowest = 16'000, highest = 0;
  int passed = 0;
  for (int i = 0; i < 3600; ++i) {
    const double used = loop.limit() / 16'000;
    loop.see(sampled_us(dice, used * part, mean_us));
    if (i < 60) continue;
    const double now = loop.limit() / 16'000 * part;
    const double true_us = now > 0.01 ? mean_us * std::log(now / 0.01) : 0;
    passed += true_us > 1.5 * kTarget ? 1 : 0;
    given += loop.limit();
    lowest = std::min(lowest, loop.limit());
    highest = std::max(highest, loop.limit());
  }
  CAPTURE(part, mean_us, allowed, given / 3540, lowest, highest, passed);
  if (allowed > 1000) {
    CHECK(given / 3540 > 0.5 * std::min(allowed, 16'000.0));
    CHECK(highest < 1.8 * allowed);
    // Where a wait lasts far longer than the target a second's p99 is all or nothing.
    CHECK(passed < (mean_us > 4 * kTarget ? 0.25 : 0.03) * 3540);
  } else {
    CHECK(given / 3540 < 1200);  // close to the minimum
    CHECK(highest < 3200);
  }
}

}  // namespace
}  // namespace koord::koordlet
