# Fuzzers: built with libFuzzer, ASan and UBSan in a folder of their own, each run for some seconds.

# run_fuzzer NAME SECONDS
run_fuzzer() {
  local name=$1 seconds=$2 new=build-fuzz/corpus/$1 log=build-fuzz/logs/$1 status=0 runs
  local dictionary=()
  mkdir -p "$new" build-fuzz/findings build-fuzz/logs
  [[ ! -f tests/fuzz/$name.dict ]] || dictionary=(-dict="tests/fuzz/$name.dict")
  "build-fuzz/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="build-fuzz/findings/$name-" "${dictionary[@]}" \
    "$new" "tests/fuzz/corpus/$name" >"$log" 2>&1 || status=$?
  runs=$(sed -nE 's/^stat::number_of_executed_units: *//p' "$log")
  if ((status == 0)); then
    say "fuzz: $name: ${runs:-?} inputs, no finding"
  else
    tail -30 "$log" >&2
    say "fuzz: $name: FINDING, see build-fuzz/findings/$name-* and $log"
  fi
  return "$status"
}

verb_fuzz() {
  local seconds=${1:-60} only=${2:-} names status=0
  verb_deps
  configure build-fuzz -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1 \
    -Dcpp_args=-fsanitize=fuzzer-no-link
  mapfile -t names < <(ninja -C build-fuzz -t targets all | sed -nE 's/^tests\/fuzz\/fuzz_([a-z0-9_]+): .*/\1/p')
  [[ -z $only ]] || names=("$only")
  ((${#names[@]} > 0)) || { say "fuzz: no fuzzers"; return 1; }
  ninja -C build-fuzz "${names[@]/#/tests/fuzz/fuzz_}" >&2
  say "fuzz: ${#names[@]} fuzzers, $seconds s each, $(nproc) at a time"
  export -f run_fuzzer say
  printf '%s\0' "${names[@]}" | xargs -0 -P "$(nproc)" -I{} bash -c 'run_fuzzer "$@"' - {} "$seconds" || status=1
  return "$status"
}
