import Glibc

extension SpawnedProcess.Program {
    /// The error that a start would have, as far as it can be checked beforehand: the file is missing or not
    /// executable.
    ///
    /// Nil when no problem was found; the program in a script's first line is not checked.
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

    /// The hint for an error of the start, or for the ``obstacle``, as a phrase.
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

    /// The paths that `posix_spawnp` tries in ``directory``.
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
