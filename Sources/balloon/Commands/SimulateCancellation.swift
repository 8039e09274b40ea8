import ArgumentParser
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import RetentionMessages

/// The options of `balloon simulate cancel`: a subscriber who is about to cancel, in the App Store of
/// `balloon dev`.
struct SimulatedCancellation: ParsableArguments {
    /// The name that `balloon simulate` accepts instead of a message to simulate a cancellation.
    static let name = "cancel"

    @Option(help: .value("slug", "With cancel: the app, when there is more than one."))
    var app: String?

    @Option(help: .value("productId", "With cancel: the product of the subscription."))
    var product: String?

    @Option(
        help: .value(
            "originalTransactionId", "With cancel: the subscription, on which the share of a rule depends."))
    var subscription: String?

    @Option(help: .value("environment", "With cancel: sandbox or production."))
    var environment: String?

    /// Whether no option was given.
    var isEmpty: Bool { app == nil && product == nil && subscription == nil && environment == nil }

    func validate() throws {
        try require(
            environment.map({ RetentionEnvironment(name: $0) != nil }) ?? true,
            "--environment takes sandbox or production.")
    }

    /// The base URL of an app's simulated API; throws when `balloon dev` has not run in `data` with this app.
    static func simulator(
        of slug: String?, _ environment: RetentionEnvironment, in data: String
    ) throws(CommandFailure) -> String {
        guard let server = try DevelopmentServer.read(in: data), !server.server.isEmpty else {
            throw .noDevelopmentServer(path: DevelopmentServer.path(in: data))
        }
        let found =
            server.apps.count == 1 && slug == nil ? server.apps.first : server.apps.first { $0.slug == slug }
        guard let url = found?.simulators[environment] else {
            let known = server.apps.map(\.slug).joined(separator: ", ")
            throw .unknownArgument(
                "--app", reason: "names no app of balloon dev",
                hint: known.isEmpty
                    ? "start balloon dev with --config and a file in its folder apps"
                    : "the apps are \(known)")
        }
        return url
    }

    /// Makes the App Store of `balloon dev` ask the server, and prints the result for the subscriber.
    func run(locale: String?, data: String, json: Bool) async throws {
        let name = environment ?? "sandbox"
        let environment = RetentionEnvironment(name: name) ?? .sandbox
        let url = try Self.simulator(of: app, environment, in: data)
        let body = JSONWriter.object { writer in
            writer.field("productId", product)
            // This API separates language and region with a hyphen, but the messages of customers use an
            // underscore.
            writer.field("userLocale", locale?.replacing("_", with: "-"))
            writer.field("originalTransactionId", subscription)
        }
        let response: TransportResponse
        do {
            response = try await CurlTransport().send(
                TransportRequest(
                    method: "POST", url: url + "/_simulator/cancel",
                    headers: [("content-type", "application/json")], body: body, allowsPlainHTTP: true))
        } catch {
            throw CommandFailure.noAnswer(url: url)
        }
        guard response.status == 200, let root = (try? JSONDocument(response.body))?.root else {
            throw CommandFailure.refused(
                status: response.status, answer: terminalText(String(decoding: response.body, as: UTF8.self)))
        }
        StandardStream.output.write(
            json ? String(decoding: root.text, as: UTF8.self) + "\n" : Self.text(root))
        if root["asked"]?.bool != true { throw ExitCode(CommandStatus.failed.rawValue) }
    }

    /// Returns the result of a cancellation as text.
    static func text(_ root: JSONValue) -> String {
        guard root["asked"]?.bool == true else {
            return "the App Store asks nothing: the product and locale have no default message\n"
        }
        var lines: [String] = []
        let time = "\(root["milliseconds"]?.int ?? 0) ms"
        if let failure = root["failure"]?.string {
            let status = root["status"]?.int.map { " (status \($0))" } ?? ""
            lines.append("no answer: \(failure)\(status) after \(time)")
        } else {
            let answer = root["answer"].map { String(decoding: $0.text, as: UTF8.self) } ?? ""
            lines.append("answer after \(time): \(answer)")
        }
        let shown = root["shown"]?.string == "answer" ? "the message of the answer" : "the default message"
        lines.append(
            "the subscriber sees \(shown): \(root["header"]?.string ?? "") / \(root["body"]?.string ?? "")")
        return lines.map { terminalText($0) + "\n" }.joined()
    }
}
