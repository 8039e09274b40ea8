import Glibc

extension SpawnedProcess.Program {
    /// Why it cannot be started, as far as that can be told beforehand: its file is not there, or may not be run.
    ///
    /// Nil when nothing speaks against it; what its first line names is not looked at.
    package var obstacle: SystemError? {
        guard let name = command.first, !name.isEmpty else { return SystemError("access", code: ENOENT) }
        var obstacle = SystemError("access", code: ENOENT)
        for path in candidates(name) {
            // Sound: the string lives for the call.
            if unsafe access(path, X_OK) == 0 {
                if !Directory.isDirectory(path) { return nil }
                obstacle = SystemError("access", code: EACCES)
            } else if errno != ENOENT {
                obstacle = SystemError("access")
            }
        }
        return obstacle
    }

    /// What to do about an error of its start, or about its ``obstacle``, as a phrase.
    package func advice(about error: SystemError) -> String {
        let name = command.first ?? ""
        if !name.utf8.contains(UInt8(ascii: "/")) {
            return Directory.exists(directory + "/" + name) && !name.isEmpty
                ? "write ./\(name): a name without a slash is looked for on the PATH"
                : "install it, or write its path; a name without a slash is looked for on the PATH"
        }
        let path = candidates(name)[0]
        if Directory.isDirectory(path) { return "it is a folder: name the program in it" }
        guard Directory.exists(path) else { return "check its path, which counts from \(directory)" }
        return switch error.code {
        case EACCES: "chmod +x \(name)"
        case ENOEXEC: "begin it with a line that names what runs it, such as #!/usr/bin/env python3"
        case ENOENT: "its first line names a program that is not there"
        default: "check its mode and its first line"
        }
    }

    /// Where a start looks, as `posix_spawnp` does it in ``directory``.
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
