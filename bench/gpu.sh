#!/usr/bin/env bash
# The conformance suite on real GPUs, in one command. bench/gpu.sh -h explains it; gpu_report.py makes the report.
set -euo pipefail

root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")

say() { printf 'gpu.sh: %s\n' "$*" >&2; }
wrong() { say "$*; see bench/gpu.sh -h"; exit 2; }

help() {
  cat <<'END'
usage: bench/gpu.sh [--minutes N] [--parts PART,...] [--build FOLDER] [--json FILE]

Runs the conformance suite on this machine's NVIDIA GPUs and writes one JSON file and a summary. The minutes begin once
tutti is built for these GPUs, which the first run does (preset cuda, in build/cuda or, for other GPUs, in build/gpu).

  correctness  the GPU tests of the tree (ctest label cuda)
  sanitizer    collectives and the trainers' kernels under compute-sanitizer, if there is one
  bandwidth    collectives beside NCCL's, 8 B to 1 GiB, against what the memory and the links of this machine can do

  --minutes N      how long all parts may take together, 2 to 60 [10]; what does not fit is left out, and said
  --parts PART,... [correctness,sanitizer,bandwidth]
  --build FOLDER   a folder in which tutti is built already; nothing is built then
  --json FILE      the report [gpu.json in the build's folder gpu-report, beside the logs]

Exits 0 if all that ran passed, 1 if something failed, 2 for wrong arguments, 77 if there is no GPU.

environment:
  CUDA_VISIBLE_DEVICES   the GPUs to use
  TUTTI_NCCL             the library of NCCL, if it is not found by its name

example:
  bench/gpu.sh --minutes 10 --json gpu.json
END
}

# ---- Arguments -------------------------------------------------------------------------------------------------------
minutes=10 parts=correctness,sanitizer,bandwidth build_dir='' json=''
while (($# > 0)); do
  case $1 in
    -h | --help) help; exit 0 ;;
    --minutes | --parts | --build | --json)
      [[ -n ${2:-} ]] || wrong "$1 needs a value"
      case $1 in
        --minutes)
          [[ $2 =~ ^0*([2-9]|[1-5][0-9]|60)$ ]] || wrong "--minutes '$2': a whole number from 2 to 60"
          minutes=$((10#$2))
          ;;
        --parts)
          parts=$2
          [[ ,$parts, =~ ^,((correctness|sanitizer|bandwidth),)+$ ]] ||
            wrong "--parts '$2': some of correctness,sanitizer,bandwidth"
          ;;
        --build)
          build_dir=$2
          [[ -x $build_dir/bin/tutti-bench ]] || wrong "--build '$2': there is no bin/tutti-bench in it"
          build_dir=$(readlink -f "$build_dir")
          ;;
        --json)
          json=$2
          [[ ! -d $json && -d $(dirname "$json") && -w $(dirname "$json") ]] ||
            wrong "--json '$2': cannot be written there"
          json=$(readlink -f "$json")
          ;;
      esac
      shift 2
      ;;
    *) wrong "unknown argument '$1'" ;;
  esac
done
asked_for() { [[ ,$parts, == *,$1,* ]]; }

# ---- Which GPUs ------------------------------------------------------------------------------------------------------
# Without a driver, but for the emulated GPU of the tests (./tutti emulate -- bench/gpu.sh): all but times can be tried.
emulated=${TUTTI_EMULATED_GPUS:-}
fields=index,name,uuid,driver_version,compute_cap,memory.total,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem
fields+=,power.limit,temperature.gpu,pci.bus_id
query() { nvidia-smi --query-gpu="$fields" --format=csv,noheader,nounits </dev/null; }

no_gpu() {
  say "no GPU: $*. Without one, ./tutti test checks the GPU's code and ./tutti emulate runs it (docs/emulator.md)"
  exit 77
}
if [[ -n $emulated ]]; then
  gpus=$emulated facts=
  capability=${TUTTI_EMULATED_ARCHITECTURE:-90}
  capability=${capability%?}.${capability: -1}
else
  command -v nvidia-smi >/dev/null || no_gpu "nvidia-smi is not found, so there seems to be no NVIDIA driver"
  facts=$(query 2>&1) || no_gpu "nvidia-smi says: $(head -n 1 <<<"$facts")"
  [[ -n $facts ]] || no_gpu "nvidia-smi lists none"
  gpus=$(wc -l <<<"$facts")
  capability=$(cut -d, -f5 <<<"$facts" | tr -d ' ' | sort -u)
  [[ $(wc -l <<<"$capability") == 1 ]] ||
    say "GPUs of several kinds ($(tr '\n' ' ' <<<"$capability")): built for the first"
  capability=$(head -n 1 <<<"$capability")
  [[ $capability =~ ^[0-9]+\.[0-9]$ ]] || no_gpu "nvidia-smi gives '$capability' for its compute capability"
fi
architecture=${capability/./}
if [[ ${CUDA_VISIBLE_DEVICES:-} == -* ]]; then no_gpu "CUDA_VISIBLE_DEVICES is $CUDA_VISIBLE_DEVICES"; fi
if [[ -n ${CUDA_VISIBLE_DEVICES:-} ]]; then gpus=$(tr ',' '\n' <<<"$CUDA_VISIBLE_DEVICES" | grep -c .); fi
ranks=$((gpus > 8 ? 8 : gpus))

# ---- Build -----------------------------------------------------------------------------------------------------------
built_for() {
  grep -qE "^TUTTI_CUDA_ARCHITECTURES:[A-Z]*=([0-9a-z]*;)*$architecture(;|$)" "$1/CMakeCache.txt" 2>/dev/null
}

build_seconds=0
if [[ -z $build_dir ]]; then
  begin=$SECONDS
  # The preset's own folder serves if it is, or would be, for these GPUs.
  if built_for "$root/build/cuda" || [[ ! -f $root/build/cuda/CMakeCache.txt && $architecture == 90 ]]; then
    build_dir=$root/build/cuda
    "$root/tutti" build cuda || exit 1
  else
    build_dir=$root/build/gpu
    say "building for sm_$architecture in build/gpu"
    mkdir -p "$build_dir"
    (cd "$root" && cmake --preset cuda -B "$build_dir" "-DTUTTI_CUDA_ARCHITECTURES=$architecture" &&
      cmake --build "$build_dir" --parallel "$(nproc)") >"$build_dir/build.log" 2>&1 </dev/null ||
      { tail -n 25 "$build_dir/build.log" >&2; say "the build failed (all of it: $build_dir/build.log)"; exit 1; }
  fi
  build_seconds=$((SECONDS - begin))
elif ! built_for "$build_dir"; then
  say "$build_dir is not built for these GPUs (sm_$architecture): their driver compiles the PTX, if it can"
fi
out=$build_dir/gpu-report
rm -rf "$out"
mkdir -p "$out"
json=${json:-$out/gpu.json}

# ---- Steps -----------------------------------------------------------------------------------------------------------
start=$SECONDS total=$((minutes * 60))
remaining() { echo $((total - (SECONDS - start))); }

# note PART WHAT STATE SECONDS LOG COMMAND [WHY]: a line for the report. STATE is ok, failed, timed_out or left_out.
note() {
  local field line=
  for field in "$@"; do line+=${field//[$'\t\n']/ }$'\t'; done
  printf '%s\n' "${line%$'\t'}" >>"$out/steps.tsv"
}

left_out() {
  say "$1: $2: left out: $3"
  note "$1" "$2" left_out 0 "" "" "$3"
}

# step PART WHAT SECONDS COMMAND...: runs it for at most so long; its output goes to a log.
step() {
  local part=$1 what=$2 limit=$3 rc=0 state=ok begin=$SECONDS
  shift 3
  local log=$part-${what//[^A-Za-z0-9]/_}.log
  if ((limit < 5)); then
    left_out "$part" "$what" "no time is left"
    return 1
  fi
  timeout -k 10 "$limit" "$@" >"$out/$log" 2>&1 </dev/null || rc=$?
  local why=
  case $rc in
    0) ;;
    124 | 137) state=timed_out why="not done after $limit s" ;;
    *) state=failed why="exit $rc" ;;
  esac
  say "$part: $what: ${state/_/ } ($((SECONDS - begin)) s)"
  note "$part" "$what" "$state" "$((SECONDS - begin))" "$log" "$(printf '%q ' "$@")" "$why"
  [[ $state == ok ]]
}

launch=(mpirun -n "$ranks" --oversubscribe --bind-to none)
[[ $(id -u) != 0 ]] || launch+=(--allow-run-as-root)

correctness() {
  local limit=$((total * 45 / 100))
  ((limit < $(remaining) - 30)) || limit=$(($(remaining) - 30))
  # ctest ends by itself a little earlier, so that it still says what it ran.
  local until
  until=$(date -d "+$((limit > 30 ? limit - 20 : limit)) seconds" +%H:%M:%S)
  local each=240
  [[ -z $emulated ]] || each=$limit  # an emulated GPU may be as slow as it is
  step correctness "GPU tests" "$limit" ctest --test-dir "$build_dir" -L '^cuda$' --timeout "$each" \
    --stop-time "$until" --output-junit "$out/tests.xml" || true
  ((gpus > 1)) || say "correctness: many ranks on one GPU: never NVLink figures"
}

sanitizer() {
  if [[ -n $emulated ]]; then
    left_out sanitizer all "the GPU is emulated"
    return
  fi
  local program
  program=$(command -v compute-sanitizer || true)
  if [[ -z $program ]]; then
    local nvcc
    nvcc=$(sed -n 's/^TUTTI_NVCC:[A-Z]*=//p' "$build_dir/CMakeCache.txt" 2>/dev/null || true)
    [[ ! -x $(dirname "${nvcc:-none}")/compute-sanitizer ]] || program=$(dirname "$nvcc")/compute-sanitizer
  fi
  if [[ -z $program ]]; then
    left_out sanitizer all "there is no compute-sanitizer (PATH, beside nvcc)"
    return
  fi
  local limit=$((total * 25 / 100)) end tool
  end=$((SECONDS + limit))
  ((limit < $(remaining) - 20)) || end=$((SECONDS + $(remaining) - 20))
  # Two ranks at least, or nothing is exchanged. initcheck is left out: it does not see what peers write. racecheck
  # looks at shared memory, which only the trainers' kernels use.
  local many=$((ranks < 2 ? 2 : ranks > 4 ? 4 : ranks))
  local -a small=("$build_dir/bin/tutti-bench" all --backend native --algorithm all -b 64K -e 64K --rounds 1 -n 1 -w 1
    --memory peer-mapped)
  local -a jobs=("${launch[@]}")
  jobs[2]=$many
  for tool in memcheck synccheck; do
    step sanitizer "$tool of collectives, $many ranks" $((end - SECONDS)) env TUTTI_DEVICE=gpu TUTTI_TIMEOUT=300 \
      "${jobs[@]}" "$program" --tool "$tool" --error-exitcode 9 "${small[@]}" || true
  done
  for tool in memcheck racecheck; do
    step sanitizer "$tool of the trainers' kernels" $((end - SECONDS)) "$program" --tool "$tool" --error-exitcode 9 \
      "$build_dir/bin/trainers_maths_cuda" '--gtest_filter=-*Processes*' || true
  done
}

# One collective over one range of sizes, into a file of its own, so that running out of time costs only that range.
measure() {
  local collective=$1 least=$2 most=$3 backends=$4
  shift 4
  step bandwidth "$collective $least to $most" $(($(remaining) - 10)) env TUTTI_DEVICE=gpu TUTTI_TIMEOUT=60 \
    "${launch[@]}" "$build_dir/bin/tutti-bench" "$collective" -b "$least" -e "$most" -f 4 --steady --rounds 5 \
    --memory peer-mapped --backend "$backends" "$@" --costs --json "$out/bench-$collective-$least.json" || true
}

bandwidth() {
  if [[ -n $emulated ]]; then
    left_out bandwidth all "the GPU is emulated, so times mean nothing"
    return
  fi
  local limit=60
  ((limit < $(remaining) - 10)) || limit=$(($(remaining) - 10))
  if step bandwidth "limits by plain copies" "$limit" "$build_dir/bin/tutti-gpu-limit"; then
    cp "$out/bandwidth-limits_by_plain_copies.log" "$out/limit.json"
  fi
  if ((gpus > 1)); then
    nvidia-smi nvlink --status >"$out/nvlink.txt" 2>&1 </dev/null || true
    nvidia-smi topo -m >"$out/topo.txt" 2>&1 </dev/null || true
  else
    say "bandwidth: one GPU: one rank, so nothing crosses a link; algbw is held against its memory"
  fi
  local backends=native,nccl
  step bandwidth "does NCCL start" 60 env TUTTI_DEVICE=gpu TUTTI_TIMEOUT=30 "${launch[@]}" \
    "$build_dir/bin/tutti-bench" all_reduce -b 8 -e 8 --rounds 1 -n 1 --steady --memory peer-mapped --backend nccl ||
    backends=native
  # The most telling first: what does not fit is left out at the end. Small calls are replayed as CUDA graphs, or the
  # host's part, a launch and a wait for each, would be all that one sees.
  measure all_reduce 256K 1G "$backends"
  measure all_reduce 8 64K "$backends" --graph 20
  local collective
  for collective in all_gather reduce_scatter broadcast all_to_all reduce send_recv gather scatter; do
    # A message needs two ranks.
    if [[ $collective != send_recv ]] || ((ranks > 1)); then measure "$collective" 256K 1G "$backends"; fi
  done
  for collective in all_gather reduce_scatter broadcast all_to_all reduce; do
    measure "$collective" 8 64K "$backends" --graph 20
  done
}

# ---- All of it -------------------------------------------------------------------------------------------------------
say "$gpus GPU(s) of compute capability $capability${emulated:+, emulated}; $minutes minutes; logs in $out"
printf '%s\n' "$facts" >"$out/gpus.csv"
for part in correctness sanitizer bandwidth; do
  if asked_for "$part"; then "$part"; else left_out "$part" all "not asked for"; fi
done
if [[ -z $emulated ]]; then query >"$out/gpus-after.csv" 2>/dev/null || true; fi
exec python3 -B "$root/bench/gpu_report.py" "$out" "$json" --gpus "$gpus" --ranks "$ranks" \
  --build-seconds "$build_seconds" --seconds "$((SECONDS - start))" --minutes "$minutes" --fields "$fields" \
  ${emulated:+--emulated}
