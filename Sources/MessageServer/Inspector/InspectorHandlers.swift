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

    private typealias Entry = (status: HandlerStatus, lever: HandlerLevers.Lever)
    private static let form = JSONObjectForm<Entry>(
        written: HandlerStatus.fields.map { $0.written(of: \.status) } + [
            JSONField("delaySeconds", .number) { $0.lever.delay / .seconds(1) },
            JSONField("stopped", .flag) { $0.lever.isStopped },
        ]
    ).form(isClosed: false)
    private static let list = JSONObjectForm.listed("handlers", form).form(isClosed: false)

    var routes: [InspectorRoute] {
        [
            InspectorRoute(
                .get, "/dev/v1/handlers", "List the handlers with their levers", answer: Self.list.schema
            ) { _ in
                var handlers: [Entry] = []
                for business in registry.all { handlers.append(await entry(of: business)) }
                return .json(Self.list.json(handlers))
            },
            InspectorRoute(
                .post, "/dev/v1/handler", "Slow a handler, stop, start, restart or kill it",
                body: .json(
                    maximumBytes: 4096,
                    .options([
                        "business": .text, "delaySeconds": .number(upTo: Int(Self.longestDelay)),
                        "do": .choice(Action.allCases.map(\.rawValue)),
                    ])), answer: Self.form.schema
            ) { .json(Self.form.json(try await change(try $0.object()))) },
        ]
    }

    private func change(_ object: JSONValue) async throws -> Entry {
        let business = try business(object["business"])
        let delay = try delay(object["delaySeconds"])
        let action: Action? = try object["do"]?.word("a handler cannot do this")
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
        return await entry(of: business)
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

    private func operated(_ business: BusinessHandler) throws(InspectorProblem) -> any EventHandler {
        do throws(HandlerRefusal) { return try registry.operated(business.slug) } catch {
            throw InspectorProblem(.conflict, error.reason, pointer: "/do")
        }
    }

    private func entry(of business: BusinessHandler) async -> Entry {
        (await HandlerStatus(business), levers[business.business])
    }
}
