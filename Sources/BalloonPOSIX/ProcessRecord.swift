import Glibc

/// Which process a number meant when it was written down: numbers are given out again, and machines start anew.
package struct ProcessRecord: Hashable, Sendable {
    /// The process's number.
    package let id: Int32
    /// When it began, in ticks since the machine started (proc_pid_stat(5), `starttime`).
    private let start: UInt64
    /// Which start of the machine that was (random(4), `boot_id`).
    private let machine: String

    /// The process that has the number now; nil when there is none, or none but a zombie.
    package init?(of id: Int32) {
        // Whoever may not look cannot tell, and tells nothing.
        guard let fields = Self.fields(of: id), let machine = Self.machine, fields.count > 19,
            fields[0] != "Z", let start = UInt64(fields[19])
        else { return nil }
        self.id = id
        self.start = start
        self.machine = machine
    }

    /// Reads what ``text`` says; nil when it is anything else.
    package init?(_ text: String) {
        let words = text.split { $0 == " " || $0 == "\n" }
        guard words.count == 3, let id = Int32(words[0]), id > 1, let start = UInt64(words[1]) else {
            return nil
        }
        self.id = id
        self.start = start
        machine = String(words[2])
    }

    /// `4711 81231 0f5f…`: number, start, machine's start.
    package var text: String { "\(id) \(start) \(machine)" }

    /// Whether it still runs.
    package var isRunning: Bool { ProcessRecord(of: id) == self }

    /// Sends a signal to the group that it leads; whether it did.
    ///
    /// Does so as long as it runs, or one that it left in its group does and was started with `variable` (`NAME=value`)
    /// in its environment.
    @discardableResult
    package func signalGroup(_ number: Int32, startedWith variable: String) -> Bool {
        // None of them is our child, so all may end between the two calls; the number is not given out again that fast.
        (isRunning || hasLeft(startedWith: variable)) && kill(-id, number) == 0
    }

    private func hasLeft(startedWith variable: String) -> Bool {
        // A number is not given out again while it is a group's, so a leader that runs leads another group.
        guard Self.machine == machine, ProcessRecord(of: id) == nil else { return false }
        let processes = ((try? Directory.names(in: "/proc")) ?? []).lazy.compactMap { Int32($0) }
        return processes.contains { process in
            // Behind the name: state, parent, group.
            guard let fields = Self.fields(of: process), fields.count > 2, fields[0] != "Z",
                Int32(fields[2]) == id
            else { return false }
            return Self.text("/proc/\(process)/environ")?.split(separator: "\0").contains { $0 == variable }
                ?? false
        }
    }

    /// What stands in `/proc/ID/stat` behind the name, which may hold blanks and parentheses.
    private static func fields(of id: Int32) -> [Substring]? {
        text("/proc/\(id)/stat").map { $0.split(separator: ")").last?.split(separator: " ") ?? [] }
    }

    private static var machine: String? {
        text("/proc/sys/kernel/random/boot_id")?.split(separator: "\n").first.map(String.init)
    }

    private static func text(_ path: String) -> String? {
        // An environment may have 2 MiB (execve(2), "Limits on size of arguments and environment").
        guard let file = try? Descriptor.open(reading: path),
            let bytes = try? file.readToEnd(maximumBytes: 4 << 20)
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
