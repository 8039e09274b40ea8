import CLinux
import Dispatch
import Glibc
import Synchronization

/// Standard output and standard error, without a buffer.
package enum StandardStream: Int32, Sendable {
    /// Standard output, for the data that the user requested.
    case output = 1
    /// Standard error, for all other output.
    case error = 2

    /// The first write error since the process began; nil when there was none.
    package var failure: SystemError? { Self.failures.withLock { $0[self] } }

    /// Whether the stream leads to systemd's journal: `JOURNAL_STREAM` names its device and inode (systemd.exec(5)).
    package func isJournal(_ variables: [String: String] = ProcessEnvironment.variables()) -> Bool {
        guard let name = variables["JOURNAL_STREAM"], let status = try? FileStatus.read(of: rawValue) else {
            return false
        }
        return name == "\(status.st_dev):\(status.st_ino)"
    }

    private static let failures = Mutex<[StandardStream: SystemError]>([:])

    /// Writes all of `text`; after an error the remaining text is lost, and ``failure`` has the error.
    package func write(_ text: String) { write(Array(text.utf8)) }

    /// Writes all of `bytes`; after an error the remaining text is lost, and ``failure`` has the error.
    package func write(_ bytes: [UInt8]) {
        var offset = 0
        while offset < bytes.count {
            // Sound: the range offset..<count lies inside the array's storage.
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(
                    rawValue, buffer.baseAddress.map { unsafe $0 + offset }, buffer.count - offset)
            }
            if count < 0, errno != EINTR {
                let error = SystemError("write")
                // Keep the first error: it is the error to report.
                return Self.failures.withLock { $0[self] = $0[self] ?? error }
            }
            offset += max(0, count)
        }
    }

    /// Whether the stream is a terminal.
    package var isTerminal: Bool { isatty(rawValue) == 1 }

    /// Whether standard input is a terminal.
    package static var inputIsTerminal: Bool { isatty(0) == 1 }
}

extension StandardStream {
    /// Returns a descriptor for standard output, and redirects later writes of other code to standard error.
    ///
    /// A line that other code prints is then in the log at once.
    package static func takeOutput() throws(SystemError) -> Descriptor {
        let own = try take(1)
        _ = try uninterrupted("dup2") { dup2(2, 1) }
        balloon_buffer_output_by_lines()
        return own
    }

    /// Returns a descriptor for standard input, which is empty afterwards.
    ///
    /// A child process that reads its standard input therefore reads nothing of ours.
    package static func takeInput() throws(SystemError) -> Descriptor {
        let own = try take(0)
        let nothing = try Descriptor.open(reading: "/dev/null")
        _ = try uninterrupted("dup2") { dup2(nothing.raw, 0) }
        return own
    }

    /// Duplicates a standard stream to a descriptor that child processes do not inherit.
    private static func take(_ number: Int32) throws(SystemError) -> Descriptor {
        Descriptor(owning: try uninterrupted("fcntl") { fcntl(number, F_DUPFD_CLOEXEC, 3) })
    }

    /// Reads `input` on its own thread; `take` receives the bytes, and an empty array at the end.
    package static func readInput(
        _ input: consuming Descriptor, _ take: @escaping @Sendable ([UInt8]) -> Void
    ) {
        let number = input.release()
        DispatchQueue(label: "balloon.stdin").async {
            let input = Descriptor(owning: number)
            var bytes: [UInt8] = []
            // A read error ends the input.
            while (try? input.read(onto: &bytes, maximumBytes: 65536)) ?? 0 > 0 {
                take(bytes)
                bytes = []
            }
            take([])
        }
    }
}
