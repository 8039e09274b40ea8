import Glibc

/// The listening sockets that a service manager opened and passed to this process (sd_listen_fds(3)).
///
/// The manager keeps the sockets open across restarts, so that connections wait in the kernel's queue while
/// no process runs. `LISTEN_FDS` is the number of sockets, which are the descriptors from 3 on;
/// `LISTEN_FDNAMES` has their names, separated by colons. The variables are ignored unless `LISTEN_PID` is
/// the id of this process.
package struct InheritedSockets: Sendable, Equatable {
    private let descriptors: [String: Int32]

    /// Creates a value without sockets.
    package init() { descriptors = [:] }

    /// Reads the environment variables; if two sockets have the same name, only the first is used.
    ///
    /// A socket without a name, or with the name `unknown`, is for the listener `public`.
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

    /// The descriptor of the socket for the listener `public`, `admin` or `control`; nil when there is none.
    package subscript(name: String) -> Int32? { descriptors[name] }

    /// The first passed descriptor.
    private static let first: Int32 = 3
    /// The maximum number of sockets; a larger number must be a mistake, and then no socket is used.
    private static let maximumCount: Int32 = 64
}
