import BalloonPOSIX
import Glibc
import TestSupport

/// The processes whose working directory is `directory`.
func processes(in directory: String) -> [String] {
    let ids = ((try? Directory.names(in: "/proc")) ?? []).filter { Int($0) != nil }
    return ids.filter { ProcessPaths.resolved("/proc/\($0)/cwd") == directory }
}

/// Waits until no process has the working directory `directory`, at most for ``WaitLimit``; returns false
/// when one still has it.
///
/// A killed process still exists for a moment.
func endOfProcesses(in directory: String) async -> Bool {
    await eventually { processes(in: directory).isEmpty }
}

/// The number of our children that ended and were not reaped.
func zombieCount() -> Int {
    let ids = ((try? Directory.names(in: "/proc")) ?? []).filter { Int($0) != nil }
    return ids.count { id in
        guard let file = try? Descriptor.open(reading: "/proc/\(id)/stat"),
            let bytes = try? file.readToEnd(maximumBytes: 4096)
        else { return false }
        // `pid (name) state parent …`; the name may contain blanks, but no parenthesis follows it.
        let fields = String(decoding: bytes, as: UTF8.self).split(separator: ")").last?.split(separator: " ")
        return fields?.first == "Z" && fields?.dropFirst().first == "\(getpid())"
    }
}
