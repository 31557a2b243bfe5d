# tutti's own programs on emulated GPUs, as they are, and what they make of faults. The tests of its libraries:
# runtime/tutti_tests.cmake.
if(NOT TARGET tutti_emulated_cudart OR NOT TARGET tutti_emulated_cublas)
  return()
endif()
get_target_property(TUTTI_EMULATED_LIBRARIES tutti_emulated_cudart LIBRARY_OUTPUT_DIRECTORY)

# tutti_emulated_program(NAME GPUS n [RANKS n] COMMAND program argument... [SAYS regular expression] [LIBRARIES folder])
# Succeeds by its exit status, or if it says what it must; a test that was skipped for want of a GPU, or a program that
# went on on the CPU, has failed.
function(tutti_emulated_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "GPUS;RANKS;SAYS;LIBRARIES" "COMMAND")
  set(command ${arg_COMMAND})
  if(arg_RANKS)
    set(command "${MPIEXEC_EXECUTABLE}" -n ${arg_RANKS} --oversubscribe --bind-to none ${command})
  endif()
  string(JOIN ":" libraries "${TUTTI_EMULATED_LIBRARIES}" ${arg_LIBRARIES})
  add_test(NAME ${name} COMMAND ${command})
  set_tests_properties(${name} PROPERTIES LABELS emulated TIMEOUT 600 PROCESSORS 2
    FAIL_REGULAR_EXPRESSION "no CUDA device;no GPU driver;tutti on the CPU;WRONG" ENVIRONMENT
    "LD_LIBRARY_PATH=${libraries};TUTTI_EMULATED_GPUS=${arg_GPUS};TUTTI_DEVICE=gpu;TUTTI_TIMEOUT=60;OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
  if(arg_SAYS)
    set_tests_properties(${name} PROPERTIES PASS_REGULAR_EXPRESSION "${arg_SAYS}")
  endif()
endfunction()

tutti_emulated_program(emulated_demo GPUS 2 RANKS 4 COMMAND $<TARGET_FILE:tutti-demo>
                       SAYS "same bits on every rank.*times mean nothing: no benchmark")
tutti_emulated_program(emulated_demo_threads GPUS 2
                       COMMAND $<TARGET_FILE:tutti-demo> --collectives-only --threads 3
                       SAYS "same bits on every rank")
tutti_emulated_program(emulated_bench GPUS 2 RANKS 2
                       COMMAND $<TARGET_FILE:tutti-bench> all -b 8 -e 32K -f 64 --backend native
                       SAYS "times mean nothing.*Out of bounds values : 0 OK")
tutti_emulated_program(emulated_bench_algorithms GPUS 1 RANKS 3
                       COMMAND $<TARGET_FILE:tutti-bench> all_reduce,reduce_scatter -b 5000 -e 5000 -d f16
                               --algorithm all --backend native
                       SAYS "times mean nothing.*Out of bounds values : 0 OK")
tutti_emulated_program(emulated_bench_graph GPUS 2 RANKS 2
                       COMMAND $<TARGET_FILE:tutti-bench> all -b 8 -e 32K -f 64 --backend native --graph 3
                       SAYS "times mean nothing.*Out of bounds values : 0 OK")
tutti_emulated_program(emulated_topo GPUS 2 RANKS 2 COMMAND $<TARGET_FILE:tutti-topo>
                       SAYS "tutti emulated GPU.*nothing is measured")
# The loss of a step is what the CPU gives.
foreach(parallel data tensor pipeline)
  tutti_emulated_program(emulated_train_${parallel} GPUS 2 RANKS 2
                         COMMAND $<TARGET_FILE:tutti-train> --preset lecture --layers 256-256-256 --parallel ${parallel}
                         SAYS "the GPU \\(tutti emulated GPU.*mean loss 0\\.1750.*1 steps in")
endforeach()
tutti_emulated_program(emulated_trainers_maths_cuda GPUS 2
                       COMMAND $<TARGET_FILE:trainers_maths_cuda> --gtest_filter=GpuMaths*:Threads/*/2)
tutti_emulated_program(emulated_trainers_maths_cuda_mpi_2 GPUS 1 RANKS 2
                       COMMAND $<TARGET_FILE:trainers_maths_cuda> --gtest_filter=Processes/*)
tutti_emulated_program(emulated_graphs_cuda GPUS 2 COMMAND $<TARGET_FILE:graphs_cuda> --gtest_filter=Threads/Graphs.*/2)

# The backend NCCL, whose part libtutti_nccl plays: tutti under NCCL's interface under tutti.
if(TARGET tutti_nccl)
  get_target_property(nccl_folder tutti_nccl LIBRARY_OUTPUT_DIRECTORY)
  tutti_emulated_program(emulated_backend_nccl_cuda GPUS 2 LIBRARIES "${nccl_folder}"
                         COMMAND $<TARGET_FILE:backend_nccl_cuda> --gtest_filter=NcclRanksOnOneGpu.*:Threads/*/2)
  tutti_emulated_program(emulated_backend_nccl_cuda_mpi_2 GPUS 2 RANKS 2 LIBRARIES "${nccl_folder}"
                         COMMAND $<TARGET_FILE:backend_nccl_cuda> --gtest_filter=Processes/*)
  set_property(TEST emulated_backend_nccl_cuda emulated_backend_nccl_cuda_mpi_2 APPEND PROPERTY
    FAIL_REGULAR_EXPRESSION SKIPPED)
endif()

add_executable(emulated_calls faults/calls_cuda.cpp)
target_link_libraries(emulated_calls PRIVATE tutti_options tutti)
tutti_emulated_program(emulated_faults GPUS 2
                       COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/faults/faults.py"
                               $<TARGET_FILE:emulated_calls>)

# What the stand-ins of graphs, of the driver's memory and of cuBLAS do, by programs that hold of the real ones as well.
tutti_emulated_test(emulated_graphs_test SOURCES runtime/graphs_test.cpp)
add_library(tutti_multicast_kernels STATIC runtime/multicast_kernels.cu)
target_link_libraries(tutti_multicast_kernels PUBLIC tutti_options)
set_target_properties(tutti_multicast_kernels PROPERTIES CUDA_ARCHITECTURES 90)  # the first with multimem
tutti_emulated_test(emulated_driver_test GPUS 2 SOURCES runtime/driver_test.cpp LINK tutti_multicast_kernels)
tutti_emulated_test(emulated_cublas_test SOURCES cublas/products_test.cpp LINK tutti_emulated_cublas)
# What the stand-in takes from its runtime is not in the toolkit's, which the program is linked with.
target_link_options(emulated_cublas_test PRIVATE LINKER:--unresolved-symbols=ignore-in-shared-libs)
