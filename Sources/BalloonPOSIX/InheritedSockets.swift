import Glibc

/// The listening sockets that a service manager opened and passed to this process (sd_listen_fds(3)).
///
/// The manager keeps them open across restarts, so that connections wait in the kernel's queue while no process runs.
/// `LISTEN_FDS` counts for this process only when `LISTEN_PID` is its id; the sockets are descriptors from 3 on, with the names in
/// `LISTEN_FDNAMES`, separated by colons.
package struct InheritedSockets: Sendable, Equatable {
    private let descriptors: [String: Int32]

    /// No sockets.
    package init() { descriptors = [:] }

    /// Reads the variables of the environment; a name that occurs twice counts once.
    ///
    /// A socket without a name, or with the name `unknown`, is the first listener: `public`.
    package init(
        environment variables: [String: String], process: Int32 = getpid()
    ) {
        guard let owner = variables["LISTEN_PID"].flatMap(Int32.init), owner == process,
            let count = variables["LISTEN_FDS"].flatMap(Int32.init), (1...Self.maximumCount).contains(count)
        else {
            descriptors = [:]
            return
        }
        let names = (variables["LISTEN_FDNAMES"] ?? "").split(
            separator: ":", omittingEmptySubsequences: false)
        var descriptors: [String: Int32] = [:]
        for index in 0..<Int(count) {
            let name = index < names.count ? String(names[index]) : ""
            let known = name.isEmpty || name == "unknown" ? "public" : name
            if descriptors[known] == nil { descriptors[known] = Self.first + Int32(index) }
        }
        self.descriptors = descriptors
    }

    /// The descriptor of the socket with this name, `public`, `admin` or `control`; nil when there is none.
    package subscript(name: String) -> Int32? { descriptors[name] }

    /// The first passed descriptor.
    private static let first: Int32 = 3
    /// More sockets than this are a mistake; none is used then.
    private static let maximumCount: Int32 = 64
}
