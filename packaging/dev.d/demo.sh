# The demonstrations: co-location as a loop, on simulated clusters with and without it; with --reserve a pod that moves to room
# that was kept for it.

verb_demo() {
  verb_build
  if [[ ${1:-} == --reserve ]]; then
    shift
    exec python3 packaging/demo/reserve.py "$@"
  fi
  exec python3 packaging/demo/demo.py "$@"
}
