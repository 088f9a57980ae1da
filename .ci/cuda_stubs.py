"""Lets PyPI's torch for Linux be imported without the gigabytes of NVIDIA libraries it was linked against.

    python cuda_stubs.py FOLDER      FOLDER is site-packages/torch/lib

On x86-64, PyPI has torch with CUDA only, and a shared library does not load while one it was linked against is
missing. Nothing of them is called on the CPU, except for the registration of kernels and the question how many
devices there are. So each missing NVIDIA library is stood in for by a small one of its name that exports, under the
versions asked for, functions that answer "no CUDA-capable device" (100, cudaErrorNoDevice of CUDA's driver_types.h).
`torch.cuda.is_available()` is then False. For tests only: never put this into an environment that is to use a GPU.

Needs `readelf` (binutils) and a C compiler. Run again, it changes nothing.
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

# Names of NVIDIA's libraries, and of the functions they export (cudaFree, __cudaRegisterFunction, ncclSend, nvrtc..).
LIBRARY = re.compile(r"lib(cu|nccl|nv)[\w-]*\.so\.\d+$")
FUNCTION = re.compile(r"(__)?(cu|nccl|nv)\w+$")
# The driver comes with a graphics card and is loaded only where one is used.
DRIVER = "libcuda.so.1"


def readelf(option, path):
    command = ["readelf", "--wide", option, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(path):
    """Names of the libraries that `path` was linked against."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("--dynamic", path))


def asked_versions(path):
    """Pairs (library, symbol version) that `path` asks for."""
    library = None
    for line in readelf("--version-info", path).splitlines():
        if file := re.search(r"\bFile: (\S+)", line):
            library = file[1]
        elif version := re.search(r"\bName: (\S+) .*\bVersion: ", line):
            yield library, version[1]


def asked_functions(path):
    """Pairs (function, symbol version or "") of NVIDIA's that `path` calls."""
    for line in readelf("--dyn-syms", path).splitlines():
        fields = line.split()
        if len(fields) > 7 and fields[6] == "UND":
            name, _, version = fields[7].partition("@")
            if FUNCTION.match(name):
                yield name, version.lstrip("@")


def missing_exports(folder):
    """{missing library: {symbol version: set of functions}}."""
    libraries = sorted(folder.glob("*.so*"))
    present = {path.name for path in libraries}
    missing = {name for path in libraries for name in needed(path) if LIBRARY.match(name)} - present - {DRIVER}
    exports = {name: collections.defaultdict(set) for name in sorted(missing)}
    home = {version: name for path in libraries for name, version in asked_versions(path) if name in missing}
    for path in libraries:
        for function, version in asked_functions(path):
            if version in home:
                exports[home[version]][version].add(function)
            elif not version and exports:
                # A function without a version is looked up in all loaded libraries: any of ours will do.
                exports[next(iter(exports))][""].add(function)
    return exports


def source(versions):
    """C text of one library."""
    lines = []
    for function in sorted(set().union(*versions.values())):
        if re.search(r"(String|ErrorName)$", function):
            lines.append(f'const char *{function}(void) {{ return "a stand-in for CUDA, without a device"; }}')
        else:
            lines.append(f"long {function}(void) {{ return 100; }}")
    return "\n".join(lines) + "\n"


def version_script(versions):
    """The linker's version script: which function belongs to which symbol version."""
    nodes = [
        f"{version} {{ global: {' '.join(f'{name};' for name in sorted(functions))} }};"
        for version, functions in versions.items()
        if version
    ]
    return "\n".join(nodes) + "\n"


def build(folder, library, versions):
    with tempfile.TemporaryDirectory() as work:
        code, script = pathlib.Path(work, "stub.c"), pathlib.Path(work, "stub.map")
        code.write_text(source(versions))
        script.write_text(version_script(versions))
        command = ["cc", "-shared", "-fPIC", "-O1", "-w", f"-Wl,-soname,{library}", "-o", str(folder / library)]
        if any(versions):
            command.append(f"-Wl,--version-script={script}")
        subprocess.run([*command, str(code)], check=True)


def main():
    folder = pathlib.Path(sys.argv[1])
    exports = missing_exports(folder)
    for library, versions in exports.items():
        build(folder, library, versions)
    print(f"stand-ins for {len(exports)} NVIDIA libraries in {folder}", file=sys.stderr)


if __name__ == "__main__":
    main()
