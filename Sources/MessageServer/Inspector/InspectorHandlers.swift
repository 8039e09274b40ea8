import BalloonHTTP
import BalloonJSON
import BusinessMessages
import HandlerKit

/// The handlers and their levers: `/dev/v1/handlers` and `/dev/v1/handler`.
struct InspectorHandlers: Sendable {
    /// An action on a handler, other than changing its delay.
    private enum Action: String, CaseIterable {
        /// Kills the process, which is restarted as after a crash.
        case kill
        /// Ends the process, and starts it at once.
        case restart
        /// Makes events wait in front of the handler, without an attempt.
        case stop
        /// Ends `stop`, so that the waiting events are handled.
        case start
    }

    let registry: HandlerRegistry
    let levers: HandlerLevers

    private static let longestDelay = 600.0

    var routes: [InspectorRoute] {
        [
            InspectorRoute(.get, "/dev/v1/handlers") { _ in
                var handlers: [[UInt8]] = []
                for business in registry.all { handlers.append(await json(of: business)) }
                return .json(
                    JSONWriter.object { writer in
                        writer.list("handlers", handlers) { handler, writer in writer.raw(handler) }
                    })
            }.describing(
                "List the handlers with their levers",
                answer: JSONSchema.object(["handlers": JSONSchema.list(Self.schema)])),
            InspectorRoute(.post, "/dev/v1/handler", body: .json(maximumBytes: 4096)) { request in
                .json(try await change(try request.object()))
            }.describing(
                "Slow a handler, stop, start, restart or kill it",
                body: JSONSchema.object(
                    [:],
                    optional: [
                        "business": JSONSchema.text,
                        "delaySeconds": JSONSchema.number(upTo: Int(Self.longestDelay)),
                        "do": JSONSchema.choice(Action.allCases.map(\.rawValue)),
                    ]), answer: Self.schema),
        ]
    }

    private static let schema = JSONSchema.object(
        [
            "business": JSONSchema.text, "health": JSONSchema.text,
            "inFlight": JSONSchema.count, "waiting": JSONSchema.count,
            "stuck": JSONSchema.count, "delaySeconds": JSONSchema.number,
            "stopped": JSONSchema.flag,
        ],
        optional: [
            "restarts": JSONSchema.count, "process": JSONSchema.count,
            "noiseLines": JSONSchema.count, "downSeconds": JSONSchema.count,
        ])

    private func change(_ object: JSONValue) async throws -> [UInt8] {
        let business = try business(object["business"])
        let delay = try delay(object["delaySeconds"])
        let action = try action(object["do"])
        guard delay != nil || action != nil else {
            throw InspectorProblem(
                .badRequest, "the body needs delaySeconds or do", offered: Action.allCases.map(\.rawValue))
        }
        if let delay { levers.slow(business.business, by: delay) }
        switch action {
        case nil: break
        case .stop: levers.stop(business.business)
        case .start: levers.start(business.business)
        case .restart: try await operated(business).restart()
        case .kill:
            guard try await operated(business).crash() else {
                throw InspectorProblem(.conflict, "the handler has no process", pointer: "/do")
            }
        }
        return await json(of: business)
    }

    private func business(_ slug: JSONValue?) throws(InspectorProblem) -> BusinessHandler {
        let known = registry.all
        let wanted = known.first { slug == nil ? known.count == 1 : $0.slug == slug?.string }
        guard let wanted else {
            throw InspectorProblem(
                .badRequest, "business names one of the businesses", pointer: "/business",
                offered: known.map(\.slug))
        }
        return wanted
    }

    private func delay(_ value: JSONValue?) throws(InspectorProblem) -> Duration? {
        guard let value else { return nil }
        guard let seconds = value.double, (0...Self.longestDelay).contains(seconds) else {
            throw InspectorProblem(
                "a delay is a number of seconds up to \(Int(Self.longestDelay))", at: value)
        }
        return .milliseconds(Int(seconds * 1000))
    }

    private func action(_ value: JSONValue?) throws(InspectorProblem) -> Action? {
        guard let value else { return nil }
        guard let action = value.string.flatMap(Action.init) else {
            throw InspectorProblem(
                .badRequest, "a handler cannot do this", pointer: value.pointer,
                offered: Action.allCases.map(\.rawValue))
        }
        return action
    }

    private func operated(_ business: BusinessHandler) throws(InspectorProblem) -> any EventHandler {
        do throws(HandlerRefusal) { return try registry.operated(business.slug) } catch {
            throw InspectorProblem(.conflict, error.reason, pointer: "/do")
        }
    }

    private func json(of business: BusinessHandler) async -> [UInt8] {
        let status = await HandlerStatus(business)
        let lever = levers[business.business]
        return JSONWriter.object { writer in
            status.write(to: &writer)
            writer.field("delaySeconds", lever.delay / .seconds(1))
            writer.field("stopped", lever.isStopped)
        }
    }
}
