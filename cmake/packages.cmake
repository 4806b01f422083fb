# Debian packages, by CPack: make deb. One for each component of the installation.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME jointflow)
set(CPACK_PACKAGE_CONTACT "jointflow <jointflow@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_FILE_NAME jointflow)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL library development commandline data python)
if(have_mpi)
    list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT) # NAME_VERSION_ARCHITECTURE.deb
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
set(library_package libjointflow${JOINTFLOW_ABI})
set(same_version "(= ${PROJECT_VERSION})")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${library_package})
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "${PROJECT_DESCRIPTION}: the shared library")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON) # what it is linked with, at the versions that are here
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS fonts-dejavu-core)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS jointflow-data)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libjointflow-dev)
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "${PROJECT_DESCRIPTION}: headers, static library, pkg-config, CMake")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
string(CONCAT CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library_package} ${same_version}, libcairo2-dev, libpng-dev, "
    "libjpeg62-turbo-dev, libcurl4-openssl-dev, zlib1g-dev, libmd-dev, libjansson-dev")

set(CPACK_DEBIAN_COMMANDLINE_PACKAGE_NAME jointflow)
set(CPACK_DEBIAN_COMMANDLINE_DESCRIPTION "${PROJECT_DESCRIPTION}: the command line")
set(CPACK_DEBIAN_COMMANDLINE_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMMANDLINE_PACKAGE_DEPENDS "jointflow-data ${same_version}, fonts-dejavu-core")

set(CPACK_DEBIAN_DATA_PACKAGE_NAME jointflow-data)
set(CPACK_DEBIAN_DATA_DESCRIPTION "${PROJECT_DESCRIPTION}: recipes and trained models")
set(CPACK_DEBIAN_DATA_PACKAGE_ARCHITECTURE all)

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-jointflow)
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "${PROJECT_DESCRIPTION}: the Python package")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
string(CONCAT CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.9), python3-numpy, ${library_package} ${same_version}, "
    "jointflow-data ${same_version}")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "python3-matplotlib, python3-tqdm")

set(CPACK_DEBIAN_MPI_PACKAGE_NAME libjointflow-mpi)
set(CPACK_DEBIAN_MPI_DESCRIPTION "${PROJECT_DESCRIPTION}: training by several processes, with Open MPI")
set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS openmpi-bin)
set(CPACK_DEBIAN_COMMANDLINE_PACKAGE_SUGGESTS "libjointflow-mpi ${same_version}")

include(CPack)
