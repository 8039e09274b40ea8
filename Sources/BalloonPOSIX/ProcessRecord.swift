import Glibc

/// The identity of a process, which stays unique even after its id is reused or the machine restarts.
package struct ProcessRecord: Hashable, Sendable {
    /// The process id.
    package let id: Int32
    /// The start of the process, in ticks since the machine started (proc_pid_stat(5), `starttime`).
    private let start: UInt64
    /// The id of the machine's current start (random(4), `boot_id`).
    private let machine: String

    /// Identifies the process that has the id now; nil when there is none, or only a zombie.
    package init?(of id: Int32) {
        // Without permission to read the files below /proc, there is no record.
        guard let fields = Self.fields(of: id), let machine = Self.machine, fields.count > 19,
            fields[0] != "Z", let start = UInt64(fields[19])
        else { return nil }
        self.id = id
        self.start = start
        self.machine = machine
    }

    /// Parses a record in the form of ``text``; nil when it has another form.
    package init?(_ text: String) {
        let words = text.split { $0 == " " || $0 == "\n" }
        guard words.count == 3, let id = Int32(words[0]), id > 1, let start = UInt64(words[1]) else {
            return nil
        }
        self.id = id
        self.start = start
        machine = String(words[2])
    }

    /// The record of this process.
    package static var own: ProcessRecord? { ProcessRecord(of: getpid()) }

    /// The process id, the start of the process, and the id of the machine's start: `4711 81231 0f5f…`.
    package var text: String { "\(id) \(start) \(machine)" }

    /// Whether the process still runs.
    package var isRunning: Bool { ProcessRecord(of: id) == self }

    /// Sends a signal to the process group that the process leads; returns whether it was sent.
    ///
    /// If the leader has ended, the signal is sent only when another process of the group still runs and has
    /// `variable` (`NAME=value`) in its environment.
    @discardableResult
    package func signalGroup(_ number: Int32, startedWith variable: String) -> Bool {
        // The processes are not our children, so all of them may end between the check and `kill`. The kernel
        // does not reuse their ids that quickly.
        (isRunning || hasLeft(startedWith: variable)) && kill(-id, number) == 0
    }

    private func hasLeft(startedWith variable: String) -> Bool {
        // The kernel does not reuse an id while a group has it. If a process with this id runs now but
        // started at another time, the group is a different one.
        guard Self.machine == machine, ProcessRecord(of: id) == nil else { return false }
        let processes = ((try? Directory.names(in: "/proc")) ?? []).lazy.compactMap { Int32($0) }
        return processes.contains { process in
            // The first three fields after the name are state, parent and group.
            guard let fields = Self.fields(of: process), fields.count > 2, fields[0] != "Z",
                Int32(fields[2]) == id
            else { return false }
            return Self.text("/proc/\(process)/environ")?.split(separator: "\0").contains { $0 == variable }
                ?? false
        }
    }

    /// Returns the fields of `/proc/ID/stat` after the program's name, which may contain blanks and
    /// parentheses.
    private static func fields(of id: Int32) -> [Substring]? {
        text("/proc/\(id)/stat").map { $0.split(separator: ")").last?.split(separator: " ") ?? [] }
    }

    /// The id of the machine's current start (random(4), `boot_id`).
    package static var machine: String? {
        text("/proc/sys/kernel/random/boot_id")?.split(separator: "\n").first.map(String.init)
    }

    /// The text of a small file of the kernel; nil when it cannot be read.
    package static func text(_ path: String) -> String? {
        // 4 MiB is more than enough: an environment may have 2 MiB (execve(2), "Limits on size of arguments
        // and environment").
        guard let file = try? Descriptor.open(reading: path),
            let bytes = try? file.readToEnd(maximumBytes: 4 << 20)
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
