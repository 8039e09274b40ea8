package import BalloonJSON

/// The state of a running server for operators, as `GET /status` answers and `balloon status` shows.
///
/// ```json
/// {"version": "0.9.0", "uptimeSeconds": 86461, "ready": true,
///  "checks": [{"name": "journal", "state": "ok"},
///             {"name": "handlers", "state": "degraded", "reason": "1 handler is down: run balloon handlers list"}],
///  "businesses": [{"business": "fish", "handler": "ready", "restarts": 0, "pending": 3, "oldestSeconds": 12,
///                  "deadLetters": 0, "outbox": 1, "waiting": 2, "person": 1}],
///  "connections": [{"listener": "public", "count": 12}],
///  "journal": {"bytes": 1048576, "waitingBytes": 0}, "disk": {"freeBytes": 5368709120, "minimumBytes": 67108864}}
/// ```
/// `handler` is as in `GET /handlers`, or `removed` for a business without a file. `reason`, `downSeconds`, `restarts`, `oldestSeconds`
/// and `freeBytes` may be missing.
package struct ServerStatus: Sendable, Equatable {
    /// The state of one business.
    package struct Business: Sendable, Equatable {
        /// The slug, or the identifier of a business without a file.
        package var name: String
        /// The health of the handler; `none` for a business that only records.
        package var handler: String
        /// Whole seconds since the handler went down; nil while it is up.
        package var downSeconds: Int?
        /// The number of restarts of the handler's process.
        package var restarts: Int?
        /// The number of messages whose delivery has not ended.
        package var pending = 0
        /// The age of the oldest pending message; nil without pending messages.
        package var oldestSeconds: Int?
        /// The number of messages and replies that wait for an operator's decision.
        package var deadLetters = 0
        /// The number of replies that have not ended.
        package var outbox = 0
        /// The number of conversations that wait for a person.
        package var waiting = 0
        /// The number of conversations that are with a person.
        package var person = 0

        /// Creates the state of a business without messages.
        package init(_ name: String, handler: String) {
            self.name = name
            self.handler = handler
        }
    }

    /// A listener and the number of its open connections.
    package struct Listener: Sendable, Equatable {
        /// `public`, `control` or `admin`.
        package var name: String
        /// The number of open connections.
        package var connections: Int

        /// Creates a count of a listener's connections.
        package init(_ name: String, connections: Int) {
            self.name = name
            self.connections = connections
        }
    }

    /// The version of the program.
    package var version: String
    /// Whole seconds since the server was composed.
    package var uptimeSeconds: Int
    /// The checks of `/readyz`.
    package var checks: [ReadinessCheck]
    /// The businesses, sorted by name.
    package var businesses: [Business] = []
    /// The listeners.
    package var listeners: [Listener] = []
    /// The bytes of all segments of the journal.
    package var journalBytes = 0
    /// The bytes that wait for a sync of the journal.
    package var waitingBytes = 0
    /// The free bytes on the disk; nil when the system does not tell.
    package var freeBytes: Int?
    /// The free bytes below which the server is not ready.
    package var minimumFreeBytes = 0

    /// Creates the status of a server without businesses.
    package init(version: String, uptimeSeconds: Int, checks: [ReadinessCheck]) {
        self.version = version
        self.uptimeSeconds = uptimeSeconds
        self.checks = checks
    }

    /// Whether the server may receive messages.
    package var isReady: Bool { Readiness(checks: checks).isReady }
}

extension ServerStatus {
    /// The status as a JSON object.
    package var json: [UInt8] {
        JSONWriter.object(reservingCapacity: 1024 + 192 * businesses.count) { writer in
            writer.field("version", version)
            writer.field("uptimeSeconds", uptimeSeconds)
            writer.field("ready", isReady)
            writer.key("checks")
            writer.array { writer in for check in checks { check.write(to: &writer) } }
            writer.key("businesses")
            writer.array { writer in for business in businesses { business.write(to: &writer) } }
            writer.key("connections")
            writer.array { writer in
                for listener in listeners {
                    writer.object { writer in
                        writer.field("listener", listener.name)
                        writer.field("count", listener.connections)
                    }
                }
            }
            writer.key("journal")
            writer.object { writer in
                writer.field("bytes", journalBytes)
                writer.field("waitingBytes", waitingBytes)
            }
            writer.key("disk")
            writer.object { writer in
                writer.field("freeBytes", freeBytes)
                writer.field("minimumBytes", minimumFreeBytes)
            }
        }
    }

    /// Parses ``json``; nil for another object.
    package init?(_ root: JSONValue) {
        guard let version = root["version"]?.string, let uptime = root["uptimeSeconds"]?.int,
            let checks = root["checks"]?.elements, let businesses = root["businesses"]?.elements
        else { return nil }
        self.init(
            version: version, uptimeSeconds: uptime, checks: checks.compactMap { ReadinessCheck($0) })
        self.businesses = businesses.compactMap { Business($0) }
        if let connections = root["connections"]?.elements {
            listeners = connections.compactMap { value in
                value["listener"]?.string.map { Listener($0, connections: value["count"]?.int ?? 0) }
            }
        }
        journalBytes = root["journal"]?["bytes"]?.int ?? 0
        waitingBytes = root["journal"]?["waitingBytes"]?.int ?? 0
        freeBytes = root["disk"]?["freeBytes"]?.int
        minimumFreeBytes = root["disk"]?["minimumBytes"]?.int ?? 0
    }
}

extension ServerStatus.Business {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("business", name)
            writer.field("handler", handler)
            writer.field("downSeconds", downSeconds)
            writer.field("restarts", restarts)
            writer.field("pending", pending)
            writer.field("oldestSeconds", oldestSeconds)
            writer.field("deadLetters", deadLetters)
            writer.field("outbox", outbox)
            writer.field("waiting", waiting)
            writer.field("person", person)
        }
    }

    fileprivate init?(_ value: JSONValue) {
        guard let name = value["business"]?.string, let handler = value["handler"]?.string else { return nil }
        self.init(name, handler: handler)
        downSeconds = value["downSeconds"]?.int
        restarts = value["restarts"]?.int
        pending = value["pending"]?.int ?? 0
        oldestSeconds = value["oldestSeconds"]?.int
        deadLetters = value["deadLetters"]?.int ?? 0
        outbox = value["outbox"]?.int ?? 0
        waiting = value["waiting"]?.int ?? 0
        person = value["person"]?.int ?? 0
    }
}

extension ReadinessCheck {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("name", name)
            switch state {
            case .ok: writer.field("state", "ok")
            case .degraded(let reason):
                writer.field("state", "degraded")
                writer.field("reason", reason)
            case .failing(let reason):
                writer.field("state", "failing")
                writer.field("reason", reason)
            }
        }
    }

    fileprivate init?(_ value: JSONValue) {
        guard let name = value["name"]?.string else { return nil }
        let reason = value["reason"]?.string ?? ""
        switch value["state"]?.string {
        case "ok": self.init(name, .ok)
        case "degraded": self.init(name, .degraded(reason: reason))
        case "failing": self.init(name, .failing(reason: reason))
        default: return nil
        }
    }
}
