import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import HandlerKit
import ServerTestSupport
import Simulator
import TestSupport

@testable import HandlerBridges
@testable import MessageServer

extension ServerUnderTest {
    /// Starts a server whose businesses have handlers outside the process.
    ///
    /// `bindings` are JSON objects, one for each business. A binding with a member `handler` is the business's whole
    /// file except its id and name.
    convenience init(
        bindings: [String], directory: TemporaryDirectory = TemporaryDirectory(),
        timings: ChildTimings = .quick, limits: ServerLimits = ServerLimits(),
        handlers: [any HandlerFactory] = [], adjust: (inout ServerConfiguration) -> Void = { _ in }
    ) async throws {
        let environment = ProcessEnvironment.variables().merging(
            ["BALLOON_SECRET": "c2VjcmV0", "SOME_PASSWORD": "secret", "HOOK": ServiceHandlerTests.secret]
        ) { $1 }
        try await self.init(
            businesses: try Self.businesses(bindings, in: directory),
            handlers: [
                ExecBinder(timings: timings, environment: environment), HTTPBinder(environment: environment),
            ] + handlers, in: directory
        ) {
            $0.limits = limits
            adjust(&$0)
        }
    }

    private static func businesses(
        _ bindings: [String], in directory: TemporaryDirectory
    ) throws -> [BusinessConfiguration] {
        try bindings.enumerated().filter { $0.element != "" }.map { index, binding in
            let json = try JSONDocument(Array(binding.utf8)).root
            let members =
                json["handler"] == nil ? #""handler": \#(binding)"# : String(binding.dropFirst().dropLast())
            let file = #"{"businessID": "\#(business(index))", "name": "b\#(index)", \#(members)}"#
            var problems: [ConfigurationProblem] = []
            let read = BusinessFile.read(
                try JSONDocument(Array(file.utf8)).root, file: directory.file("b\(index).json"),
                slug: "b\(index)", handlers: nil, noting: &problems)
            guard problems.isEmpty, let business = read?.business else {
                throw ConfigurationError.problems(problems)
            }
            return business
        }
    }

    /// Reloads the configuration with these bindings; an empty text removes the business.
    func reload(_ bindings: [String]) async { await beginReload(bindings)?.value }

    /// Reloads the configuration with these bindings; the returned task ends when the new handlers are started.
    func beginReload(_ bindings: [String]) async -> Task<Void, Never>? {
        await beginReload { () throws(ConfigurationError) in
            var configuration = self.configuration
            do {
                configuration.businesses = try Self.businesses(bindings, in: self.directory)
            } catch {
                throw error as? ConfigurationError ?? .problems([])
            }
            return configuration
        }
    }

    /// A customer of the business with this index.
    func customer(_ index: Int) -> SimulatedCustomer { customer(to: Self.business(index)) }

    /// The latest log lines of the first business's handler, from the control socket.
    func logTail() async throws -> [String] {
        let body = Array(#"{"business":"b0"}"#.utf8)
        let answer = try await control("/handlers/logs", method: "POST", body: body)
        return try JSONDocument(answer.body).root["lines"]?.elements.compactMap(\.string) ?? []
    }

    /// The status of the handlers, from the control socket.
    func handlers() async throws -> JSONValue {
        try JSONDocument(try await control("/handlers").body).root
    }
}

extension ChildTimings {
    /// For handlers that work: limits that are long enough for a busy machine, and restarts without a pause.
    static var quick: ChildTimings {
        var timings = ChildTimings()
        timings.handshake = .seconds(60)
        timings.signOfLife = .seconds(60)
        timings.grace = .seconds(60)
        timings.restarts.backoff = Backoff([.milliseconds(20)])
        return timings
    }

    /// For handlers that hang or do not end: short limits, since longer ones would change nothing.
    static var impatient: ChildTimings {
        var timings = ChildTimings.quick
        timings.signOfLife = .seconds(1)
        timings.grace = .milliseconds(300)
        return timings
    }
}
