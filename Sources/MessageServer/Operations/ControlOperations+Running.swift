import BalloonHTTP
import BalloonPOSIX
import HandlerKit
package import Logging
import MessageStore

/// The operations that only a running server has.
extension ControlOperations {
    /// Lists the handlers with their states; `health` is `none` for a business that only records.
    package static let handlers = ControlOperation(
        .get, "/handlers", .nothing, .listed("handlers", .handlerStatus)
    ) { _, server in
        var statuses: [HandlerStatus] = []
        for business in server.registry.all { statuses.append(await HandlerStatus(business)) }
        return statuses
    }

    /// Restarts the handler of a business; the answer comes after the end of the old process.
    package static let restartHandler = ControlOperation(
        .post, "/handlers/restart", business, .listed("lines", .text), changing: { $0 }
    ) { slug, server in
        try await server.operated(slug).restart()
        return []
    }

    /// The latest lines that a handler logged.
    package static let handlerLogs = ControlOperation(
        .post, "/handlers/logs", business, .listed("lines", .text)
    ) { slug, server in try await server.operated(slug).report.log }

    private static let business = JSONObjectForm<String?>(
        nil, [JSONField("business", optional: \.self, .text)])

    /// Lists the businesses that have people, with the numbers of conversations that wait for one or have one.
    package static let people = ControlOperation(
        .get, "/people", .nothing, .listed("people", .peopleState)
    ) { _, server in
        server.registry.all.filter { server.watch.settings[$0.business] != nil }.map { business in
            PeopleState(
                slug: business.slug, presence: server.watch.presence[business.business],
                opensAt: server.watch.settings[business.business]?.openingTime(of: nil)
                    .opensAt(after: .now()),
                counts: server.watch.counts(of: business.business))
        }
    }

    /// Says whether the people of a business are there; the answer is the request, once it is durable.
    package static let changePeople = ControlOperation(
        .post, "/people", JSONObjectForm.peopleChange, JSONObjectForm.peopleChange.form,
        maximumBytes: 64 << 10, changing: \.business
    ) { change, server in
        guard let business = server.registry.all.first(where: { $0.slug == change.business })?.business,
            server.watch.settings[business] != nil
        else { throw ControlRefusal(.notFound, "no business of that name has people\n") }
        do {
            try await server.watch.presence.change(business, to: change.presence)
        } catch is PeoplePresence.Unreadable {
            throw ControlRefusal(
                .serviceUnavailable,
                "file people.json is damaged; correct it, or remove it, and restart the server\n")
        }
        return change
    }

    /// The minimum level of log lines.
    package static let logLevel = ControlOperation(.get, "/log-level", .nothing, .logLevels) { _, server in
        try server.logLevels
    }

    /// Changes the minimum level of log lines for some time, or ends such a change.
    package static let changeLogLevel = ControlOperation(
        .post, "/log-level", .logLevelChange, .logLevels, changing: \.business
    ) { change, server in
        let levels = try server.logLevels
        try change.apply(to: levels, server.registry, server.logger)
        return levels
    }

    /// The state of the server.
    package static let status = ControlOperation(.get, "/status", .nothing, ServerStatus.form.form) {
        _, server in await server.status()
    }

    /// Sends a message, and waits for its outcome as long as the request says.
    package static let send = ControlOperation(
        .post, "/send", .sending, SendAnswer.form, maximumBytes: 32 << 20
    ) { request, server in
        do {
            guard let request else { throw SendRefusal.malformed }
            guard server.registry.contains(request.business) else { throw SendRefusal.businessUnknown }
            return try await server.sender.send(request)
        } catch let refusal as SendRefusal {
            throw ControlRefusal(refusal)
        }
    }
}

extension ControlRefusal {
    /// The answer to a message that is refused before any attempt.
    init(_ refusal: SendRefusal) {
        let status: HTTPStatus =
            switch refusal {
            // A full or failing disk is not the request's fault.
            case .fileUnreadable(let reason, _) where reason.isDiskWide: .serviceUnavailable
            // Another person has the conversation, or the customer has closed it.
            case .assignment: .conflict
            default: .badRequest
            }
        self.init(status, error: refusal.reason)
    }
}

extension RunningOperations {
    fileprivate func operated(_ slug: String?) throws(ControlRefusal) -> any EventHandler {
        do throws(HandlerRefusal) { return try registry.operated(slug) } catch {
            throw ControlRefusal(error == .noHandler ? .notFound : .conflict, "\(error.reason)\n")
        }
    }

    fileprivate var logLevels: LogLevels {
        get throws(ControlRefusal) {
            guard let levels else { throw ControlRefusal(.notFound, "not found\n") }
            return levels
        }
    }
}

/// Whether the people of a business are there, and what waits for them.
package struct PeopleState: Sendable {
    let slug: String
    let presence: Presence
    /// When people answer again; nil while they do, and when nothing says when.
    let opensAt: Timestamp?
    let counts: (waiting: Int, person: Int)
}

/// A change of the presence of a business's people.
package struct PeopleChange: Sendable {
    /// The slug of the business.
    package var business: String?
    var presence: Presence

    /// Creates a change.
    package init(_ business: String, _ presence: Presence) {
        self.business = business
        self.presence = presence
    }
}

/// A change of the minimum level of log lines.
package struct LogLevelChange: Sendable {
    /// The maximum time of a change: the debug lines of a busy server would fill the disk.
    static let maximumSeconds = 86_400

    /// Whether the configured level is restored.
    package var isReset = false
    /// The new level.
    package var level: Logger.Level?
    /// The time after which the change ends.
    package var seconds: Int?
    /// The slug of the business whose lines are meant; nil for all lines.
    package var business: String?

    /// Creates a change that has no effect yet.
    package init() {}

    func apply(
        to levels: LogLevels, _ registry: HandlerRegistry, _ logger: Logger
    ) throws(ControlRefusal) {
        guard !isReset, let level, let seconds else {
            levels.reset()
            return logger.notice("log level reset", metadata: ["level": "\(levels.base.rawValue)"])
        }
        let known = registry.all.first { $0.slug == business }
        if business != nil, known == nil {
            throw ControlRefusal(.notFound, "no business has this name\n")
        }
        levels.change(to: level, of: known.map { ($0.business, $0.slug) }, for: .seconds(seconds))
        var facts: Logger.Metadata = ["to": "\(level.rawValue)", "seconds": "\(seconds)"]
        facts["business"] = known.map { "\($0.slug)" }
        logger.notice("log level changed", metadata: facts)
    }
}

extension JSONObjectForm<LogLevelChange> {
    static let logLevelChange = JSONObjectForm(
        LogLevelChange(),
        [
            JSONField(flag: "reset", \.isReset), JSONField("level", optional: \.level, .word),
            JSONField("seconds", optional: \.seconds, .integer),
            JSONField("business", optional: \.business, .text, isStrict: true),
        ],
        isValid: { change in
            change.isReset
                || change.level != nil
                    && change.seconds.map { (1...LogLevelChange.maximumSeconds).contains($0) } ?? false
        })
}

extension JSONObjectForm<PeopleChange> {
    static let peopleChange = JSONObjectForm(
        PeopleChange("", .open),
        [
            JSONField("business", optional: \.business, .text),
            JSONField(
                write: { $0.presence.write(to: &$1) },
                read: { object, change in
                    guard let presence = Presence(object) else { return false }
                    change.presence = presence
                    return true
                }),
        ])
}

extension JSONObjectForm<SendRequest?> {
    /// A request of another form is nil, and is refused with a reason.
    static let sending = JSONObjectForm(
        nil,
        [
            JSONField(
                write: { request, writer in request?.write(to: &writer) },
                read: { object, request in
                    request = SendRequest(object)
                    return true
                })
        ], limits: APIRequest.bodyLimits)
}

extension JSONForm<LogLevels> {
    /// `{"level":"info"}`, during a change with `"change":{"level":"debug","business":"fish","seconds":598}`.
    static let logLevels = JSONObjectForm<LogLevels>(written: [
        JSONField("level", .word) { $0.base },
        JSONField("change", optional: .logLevelInEffect) { $0.current },
    ]).form
}

extension JSONForm<LogLevels.Change> {
    static let logLevelInEffect = JSONObjectForm<LogLevels.Change>(written: [
        JSONField("level", .word) { $0.level }, JSONField("business", optional: .text) { $0.slug },
        JSONField("seconds", .integer) { Int($0.remaining().components.seconds) },
    ]).form
}

extension JSONForm<PeopleState> {
    static let peopleState = JSONObjectForm<PeopleState>(written: [
        JSONField("business", .text) { $0.slug }, JSONField(write: { $0.presence.write(to: &$1) }),
        JSONField("opensAt", optional: .time) { $0.opensAt },
        JSONField("waiting", .integer) { $0.counts.waiting },
        JSONField("person", .integer) { $0.counts.person },
    ]).form
}

extension JSONForm<HandlerStatus> {
    static let handlerStatus = JSONObjectForm(written: HandlerStatus.fields).form
}
