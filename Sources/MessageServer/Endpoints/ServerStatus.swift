import BalloonJSON

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
        /// The days since the last message of all conversations; nil when it is unknown.
        package var idleDays: Int?

        /// Apple may deactivate a business that has been idle for three months, so a warning comes after two.
        package static let maximumIdleDays = 60
    }

    /// A listener and the number of its open connections.
    package struct Listener: Sendable, Equatable {
        /// `public`, `control` or `admin`.
        package var name: String
        /// The number of open connections.
        package var connections: Int
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

    /// Whether the server may receive messages.
    package var isReady: Bool { Readiness(checks: checks).isReady }

    /// The form of a status.
    package static let form = JSONObjectForm(
        ServerStatus(version: "", uptimeSeconds: 0, checks: []),
        [
            JSONField("version", \.version, .text), JSONField("uptimeSeconds", \.uptimeSeconds, .integer),
            JSONField("ready", .flag) { $0.isReady },
            JSONField("checks", \.checks, .list(ReadinessCheck.form.form)),
            JSONField("businesses", \.businesses, .list(Business.form.form)),
            JSONField("connections", \.listeners, .list(Listener.form.form), missing: []),
            JSONField(
                "journal",
                [
                    JSONField("bytes", \.journalBytes, .integer, missing: 0),
                    JSONField("waitingBytes", \.waitingBytes, .integer, missing: 0),
                ]),
            JSONField(
                "disk",
                [
                    JSONField("freeBytes", optional: \.freeBytes, .integer),
                    JSONField("minimumBytes", \.minimumFreeBytes, .integer, missing: 0),
                ]),
        ])
}

extension ServerStatus.Listener {
    fileprivate static let form = JSONObjectForm(
        ServerStatus.Listener(name: "", connections: 0),
        [
            JSONField("listener", \.name, .text),
            JSONField("count", \.connections, .integer, missing: 0),
        ])
}

extension ServerStatus.Business {
    fileprivate static let form = JSONObjectForm(
        ServerStatus.Business(name: "", handler: ""),
        [
            JSONField("business", \.name, .text), JSONField("handler", \.handler, .text),
            JSONField("downSeconds", optional: \.downSeconds, .integer),
            JSONField("restarts", optional: \.restarts, .integer),
            JSONField("pending", \.pending, .integer, missing: 0),
            JSONField("oldestSeconds", optional: \.oldestSeconds, .integer),
            JSONField("deadLetters", \.deadLetters, .integer, missing: 0),
            JSONField("outbox", \.outbox, .integer, missing: 0),
            JSONField("waiting", \.waiting, .integer, missing: 0),
            JSONField("person", \.person, .integer, missing: 0),
            JSONField("idleDays", optional: \.idleDays, .integer),
        ])
}

extension ReadinessCheck {
    /// `{"name":"handlers","state":"degraded","reason":"1 handler is down: run balloon handlers list"}`.
    fileprivate static let form = JSONObjectForm(
        ReadinessCheck("", .ok),
        [
            JSONField("name", \.name, .text), JSONField("state", \.state.level, .word),
            JSONField("reason", optional: \.state.reason, .text),
        ])
}
