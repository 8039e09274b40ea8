import Glibc

extension SpawnedProcess.Program {
    /// The error that starting the program would throw: the file is missing or not executable; nil if none is
    /// found.
    ///
    /// The interpreter that the first line of a script names is not checked.
    package var obstacle: SystemError? {
        guard let name = command.first, !name.isEmpty else { return SystemError("access", code: ENOENT) }
        var obstacle = SystemError("access", code: ENOENT)
        for path in candidates(name) {
            // Sound: the string lives during the call.
            if unsafe access(path, X_OK) == 0 {
                if !Directory.isDirectory(path) { return nil }
                obstacle = SystemError("access", code: EACCES)
            } else if errno != ENOENT {
                obstacle = SystemError("access")
            }
        }
        return obstacle
    }

    /// Returns a phrase that says how to correct an error of the start, or the ``obstacle``.
    package func advice(about error: SystemError) -> String {
        let name = command.first ?? ""
        if !name.utf8.contains(UInt8(ascii: "/")) {
            return Directory.exists(directory + "/" + name) && !name.isEmpty
                ? "write ./\(name): a name without a slash is searched in PATH"
                : "install it, or write its path; a name without a slash is searched in PATH"
        }
        let path = candidates(name)[0]
        if Directory.isDirectory(path) { return "name the program in this folder" }
        guard Directory.exists(path) else { return "check its path, which is relative to \(directory)" }
        return switch error.code {
        case EACCES: "chmod +x \(name)"
        case ENOEXEC: "begin it with a line that names its interpreter, such as #!/usr/bin/env python3"
        case ENOENT: "install the interpreter named in its first line, or correct that line"
        default: "check its mode and its first line"
        }
    }

    /// Returns the paths that `posix_spawnp` would try when the working directory is ``directory``.
    private func candidates(_ name: String) -> [String] {
        let folders =
            name.utf8.contains(UInt8(ascii: "/"))
            ? [""]
            : (ProcessEnvironment.variables()["PATH"] ?? "/bin:/usr/bin")
                .split(separator: ":", omittingEmptySubsequences: false).map { $0.isEmpty ? "" : $0 + "/" }
        return folders.map { folder in
            let path = folder + name
            return path.hasPrefix("/") ? path : directory + "/" + path
        }
    }
}
