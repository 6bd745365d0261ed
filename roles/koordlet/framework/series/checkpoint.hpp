// The checkpoint's file: bytes of SeriesStore::save() that are there whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "framework/series/series.hpp"

namespace koord::koordlet {

/// Writes beside `path`, syncs and renames. Blocks: for the worker pool.
Result<> write_checkpoint(const std::string& path, std::string_view bytes);

/// Reads `path` into a new store: the number of series, 0 if there is no file. Any other error means that
/// nothing was restored and the agent starts cold; it is worth one warning.
Result<std::size_t> read_checkpoint(const std::string& path, const CheckpointStamp& stamp,
                                    SeriesStore& store);

/// FNV-1a, 64 bits: what the last 8 bytes of a checkpoint are, of all before them.
std::uint64_t checkpoint_sum(std::string_view bytes);

}  // namespace koord::koordlet
