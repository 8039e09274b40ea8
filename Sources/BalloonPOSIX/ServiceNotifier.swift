import CLinux
import Glibc

/// Reports the state of this process to the service manager that started it (sd_notify(3)).
package struct ServiceNotifier: Sendable {
    /// A change of the process's state.
    package enum State: Sendable {
        /// The process has completed its start, or a reload.
        case ready
        /// The process begins to reload its configuration.
        case reloading
        /// The process begins to stop.
        case stopping
        /// The process makes progress; must be reported at least once in each
        /// ``watchdogInterval(_:process:)``.
        case alive
        /// The process is still starting and may need this much more time, even beyond the manager's limit.
        case starting(within: Duration)

        fileprivate var text: String {
            switch self {
            case .ready: "READY=1"
            case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(SystemClock.nanoseconds() / 1000)"
            case .stopping: "STOPPING=1"
            case .alive: "WATCHDOG=1"
            case .starting(let time): "EXTEND_TIMEOUT_USEC=\(time.wholeNanoseconds / 1000)"
            }
        }
    }

    private let path: String?

    /// Uses the socket that `NOTIFY_SOCKET` names; without the variable nothing is reported.
    package init(_ variables: [String: String] = ProcessEnvironment.variables()) {
        path = variables["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
    }

    /// Returns the interval in which the service manager expects ``State/alive``; nil when it expects none.
    ///
    /// The variables are described in sd_watchdog_enabled(3). They are ignored when `WATCHDOG_PID` is the id
    /// of another process.
    package static func watchdogInterval(
        _ variables: [String: String] = ProcessEnvironment.variables(), process: Int32 = getpid()
    ) -> Duration? {
        guard let text = variables["WATCHDOG_USEC"], let microseconds = Int64(text), microseconds > 0,
            variables["WATCHDOG_PID"].map({ $0 == "\(process)" }) ?? true
        else { return nil }
        return .microseconds(microseconds)
    }

    /// Reports a state without waiting.
    ///
    /// Throws when the manager's socket does not accept the report, so that the manager misses the change of
    /// state.
    package func report(_ state: State) throws(SystemError) {
        guard let path, let (address, length) = Self.address(path) else { return }
        let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let socket = Descriptor(owning: try uninterrupted("socket") { Glibc.socket(AF_UNIX, type, 0) })
        let raw = socket.raw
        let text = Array(state.text.utf8)
        try unsafe withSocketAddress(address) { pointer throws(SystemError) in
            // Sound: the text and the address live during the call.
            _ = try uninterrupted("sendto") {
                Int32(
                    clamping: unsafe sendto(
                        raw, text, text.count, Int32(MSG_NOSIGNAL), pointer, length))
            }
        }
    }

    /// Returns the address of a unix socket.
    ///
    /// A leading `@` stands for the zero byte with which names in the abstract namespace begin (unix(7)).
    private static func address(_ path: String) -> (sockaddr_storage, socklen_t)? {
        let bytes = Array(path.utf8)
        let offset = MemoryLayout<sa_family_t>.size
        guard bytes.count < MemoryLayout<sockaddr_un>.size - offset else { return nil }
        var storage = sockaddr_storage()
        storage.ss_family = sa_family_t(AF_UNIX)
        // Sound: sockaddr_storage is larger than sockaddr_un, whose path begins after the family.
        unsafe withUnsafeMutableBytes(of: &storage) { target in
            for (index, byte) in bytes.enumerated() {
                unsafe target[offset + index] = index == 0 && byte == UInt8(ascii: "@") ? 0 : byte
            }
        }
        return (storage, socklen_t(offset + bytes.count))
    }
}
