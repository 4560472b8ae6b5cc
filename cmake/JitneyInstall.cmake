# Install rules and the package that find_package(jitney CONFIG) finds; component "cpp", so that wheels can leave it out.
include(CMakePackageConfigHelpers)

install(TARGETS jitney EXPORT jitneyTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cpp
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cpp NAMELINK_COMPONENT cpp
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT cpp
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY cpp/include/jitney DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT cpp)
install(EXPORT jitneyTargets NAMESPACE jitney:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/jitney COMPONENT cpp)
configure_package_config_file(cmake/jitneyConfig.cmake.in jitneyConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/jitney)
write_basic_package_version_file(jitneyConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/jitneyConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/jitneyConfigVersion.cmake"
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/jitney COMPONENT cpp)
