// What collectors have in common: see collector.hpp.
#include "framework/sampler/collector.hpp"

#include <algorithm>

namespace koord::koordlet {

SeriesId CollectorContext::open(Metric metric, std::string_view entity) const {
  const auto id = series.open(metric, entity);
  if (id) return *id;
  faults.garbled("series", entity, id.error());
  return {};
}

bool CollectorContext::read(Fd& fd, host::Knob knob, std::string_view group, std::string_view& text) const {
  const Outcome outcome = reader.read(fd, knob, group, text);
  if (outcome == Outcome::failed) failed(knob, group);
  return outcome == Outcome::good;
}

bool CollectorContext::read_once(host::Knob knob, std::string_view group, std::string_view& text) const {
  const Outcome outcome = reader.read_once(knob, group, text);
  if (outcome == Outcome::failed) failed(knob, group);
  return outcome == Outcome::good;
}

void CollectorContext::failed(host::Knob knob, std::string_view group) const {
  faults.failed(host::row(knob).name, group, reader.last_errno());
}

void CollectorContext::garbled(host::Knob knob, std::string_view group, const Error& error) const {
  faults.garbled(host::row(knob).name, group, error);
}

std::uint32_t ticks_of(nanoseconds period, nanoseconds interval) {
  return static_cast<std::uint32_t>(std::max<std::int64_t>(period / interval, 1));
}

}  // namespace koord::koordlet
