# Measurements: every executable file tests/bench/NAME is one. It prints its own table and its command.

verb_bench() {
  local names name status=0
  verb_deps
  verb_build
  mapfile -t names < <(find tests/bench -maxdepth 1 -type f -executable -printf '%f\n' 2>/dev/null | sort)
  if (($# > 0)); then
    [[ -x tests/bench/$1 ]] || { say "bench: no '$1'; there are: ${names[*]}"; return 2; }
    names=("$1")
    shift
  fi
  for name in "${names[@]}"; do
    printf '\n== %s: packaging/dev bench %s\n' "$name" "$name"
    "tests/bench/$name" "$@" || { say "bench: $name failed"; status=1; }
  done
  return "$status"
}
