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
        guard let stat = Self.text("/proc/\(id)/stat"),
            let machine = Self.text("/proc/sys/kernel/random/boot_id")?.split(separator: "\n").first
        else { return nil }
        // `pid (name) state …`; the name may hold blanks and parentheses, what follows it does not.
        let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 19, fields[0] != "Z", let start = UInt64(fields[19]) else { return nil }
        self.id = id
        self.start = start
        self.machine = String(machine)
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

    /// Sends a signal to the group that it leads, as long as it runs; whether it did.
    @discardableResult
    package func signalGroup(_ number: Int32) -> Bool {
        // It is not our child, so it may end between the two calls; its number is not given out again that fast.
        isRunning && kill(-id, number) == 0
    }

    private static func text(_ path: String) -> String? {
        guard let file = try? Descriptor.open(reading: path),
            let bytes = try? file.readToEnd(maximumBytes: 4096)
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
