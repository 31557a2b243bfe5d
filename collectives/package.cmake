# What `cmake --install` lays down beside the programs: the public header and what it includes, the libraries, and the
# package that find_package(tutti) finds. No file of it names a folder of this machine.
include(CMakePackageConfigHelpers)

# One spelling in the tree and installed: #include "collectives/tutti.hpp".
set(tutti_include "${CMAKE_INSTALL_INCLUDEDIR}/tutti")
install(FILES tutti.hpp environment.hpp error.hpp DESTINATION "${tutti_include}/collectives")
install(FILES "${PROJECT_SOURCE_DIR}/kernels/types.hpp" DESTINATION "${tutti_include}/kernels")

foreach(target tutti tutti_kernels)
  target_include_directories(${target} INTERFACE "$<INSTALL_INTERFACE:${tutti_include}>")
  target_compile_features(${target} INTERFACE cxx_std_20)
endforeach()
if(TUTTI_HAVE_CUDA)
  # A program of C++ alone gets the CUDA runtime from nobody else.
  target_link_libraries(tutti_kernels INTERFACE $<INSTALL_INTERFACE:CUDA::cudart_static>)
  set(tutti_cuda_least ${CUDAToolkit_VERSION_MAJOR})
endif()
install(TARGETS tutti tutti_kernels EXPORT tutti ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")

set(tutti_package "${CMAKE_INSTALL_LIBDIR}/cmake/tutti")
install(EXPORT tutti NAMESPACE tutti:: FILE tutti-targets.cmake DESTINATION "${tutti_package}")
configure_package_config_file(tutti-config.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/tutti-config.cmake"
                              INSTALL_DESTINATION "${tutti_package}")
# Before version 1 the interface may change with every minor version.
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/tutti-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tutti-config.cmake" "${CMAKE_CURRENT_BINARY_DIR}/tutti-config-version.cmake"
        DESTINATION "${tutti_package}")
