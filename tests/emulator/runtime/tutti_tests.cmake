# tutti's own tests of GPUs, the same programs, on emulated ones: as threads with peer access, and as MPI processes with
# IPC, one rank per GPU and several.

# tutti_emulated_run(PROGRAM GPUS n [RANKS n] [VARIANT name] [FILTER filter] [SET variable...])
function(tutti_emulated_run program)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "GPUS;RANKS;VARIANT;FILTER" "SET")
  set(name emulated_${program})
  set(command $<TARGET_FILE:${program}>)
  if(arg_FILTER)
    list(APPEND command "--gtest_filter=${arg_FILTER}")
  endif()
  if(arg_RANKS)
    string(APPEND name _mpi_${arg_RANKS})
    set(command "${MPIEXEC_EXECUTABLE}" -n ${arg_RANKS} --oversubscribe --bind-to none ${command})
  endif()
  if(arg_VARIANT)
    string(APPEND name _${arg_VARIANT})
  endif()
  add_test(NAME ${name} COMMAND ${command})
  # A test that is skipped for want of a GPU has not run.
  set_tests_properties(${name} PROPERTIES LABELS emulated TIMEOUT 900 PROCESSORS 2
    FAIL_REGULAR_EXPRESSION "no CUDA device;no GPU driver" ENVIRONMENT
    "LD_LIBRARY_PATH=${TUTTI_EMULATED_LIBRARIES};TUTTI_EMULATED_GPUS=${arg_GPUS};TUTTI_EMULATION_QUIET=1;TUTTI_TIMEOUT=60;OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;${arg_SET}")
endfunction()

tutti_emulated_run(residency_cuda GPUS 1)
tutti_emulated_run(retired_cuda GPUS 2)
tutti_emulated_run(memory_cuda GPUS 3 FILTER Threads/*/3)
tutti_emulated_run(memory_cuda GPUS 2 RANKS 2 FILTER Processes/*)
tutti_emulated_run(communicators_cuda GPUS 2 FILTER Threads/*/2)
tutti_emulated_run(communicators_cuda GPUS 2 RANKS 2 FILTER Processes/*)
tutti_emulated_run(graphs_cuda GPUS 2 RANKS 2 FILTER Processes/*)
tutti_emulated_run(collectives_cuda GPUS 3 FILTER Threads/*/3)
tutti_emulated_run(collectives_cuda GPUS 1 RANKS 1 FILTER Processes/*)
tutti_emulated_run(collectives_cuda GPUS 1 RANKS 2 FILTER Processes/*)
tutti_emulated_run(collectives_cuda GPUS 4 RANKS 4 FILTER Processes/*)
tutti_emulated_run(collectives_cuda GPUS 2 RANKS 2 VARIANT vmm FILTER Processes/* SET TUTTI_GPU_MEMORY=vmm)
# GPUs that have other numbers in each process, or one each that is everyone's number 0.
foreach(visible rotated alone)
  tutti_emulated_run(collectives_cuda GPUS 3 RANKS 3 VARIANT ${visible} FILTER Processes/*.GatheredChunks*
                     SET VISIBLE_GPUS=${visible} GPU_COUNT=3)
endforeach()
