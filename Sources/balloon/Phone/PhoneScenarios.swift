import BalloonHTTP
import BalloonPOSIX
import BusinessMessages
import MessageServer
import Simulator

/// The scenarios of the phone: a folder with recorded files, and plays on a phone that the page shows.
struct PhoneScenarios: Sendable {
    /// How fast a scenario is played.
    private enum Pace: String, CaseIterable {
        /// Each step follows the one before it at once.
        case atOnce
        /// The customer thinks before each message, so that a person can follow.
        case slow

        var pause: Duration { self == .slow ? .milliseconds(1200) : .zero }
    }

    let phone: Phone
    /// The folder; nil without `--scenarios`.
    let folder: String?

    private static let maximumBytes = 1 << 20
    private static let maximumFiles = 1000
    /// All waits of a scenario together; a request is answered within ten minutes.
    private static let longestPlay = Duration.seconds(480)

    var routes: [InspectorRoute] {
        let one = "/dev/v1/scenarios/{name}"
        return [
            InspectorRoute(
                .get, "/dev/v1/scenarios", "List the folder's scenarios", answer: PhoneSchema.scenarios
            ) { _ in .json(try list()) },
            InspectorRoute(.get, one, "Read a scenario", answer: .anyObject) {
                .json(try read($0.path("name")))
            },
            InspectorRoute(
                .put, one, "Save a scenario", body: .json(maximumBytes: Self.maximumBytes, .anyObject),
                answer: PhoneSchema.savedScenario
            ) { .json(try write(try $0.object(), as: $0.path("name"))) },
            InspectorRoute(
                .post, "/dev/v1/scenarios/play", "Play a scenario",
                body: .json(maximumBytes: Self.maximumBytes, PhoneSchema.playWhole),
                answer: PhoneSchema.played
            ) { request in
                let object = try request.object()
                guard let scenario = object["scenario"], scenario.kind == .object else {
                    throw InspectorProblem(.badRequest, "scenario is an object", pointer: "/scenario")
                }
                return .json(try await play(try Self.scenario(scenario), as: object))
            },
            InspectorRoute(
                .post, one + "/play", "Play a scenario of the folder",
                body: .json(maximumBytes: 65_536, PhoneSchema.play), answer: PhoneSchema.played
            ) { request in
                let document = try JSONDocument(try read(request.path("name")))
                return .json(try await play(try Self.scenario(document.root), as: try request.object()))
            },
        ]
    }

    private static func scenario(_ root: JSONValue) throws(InspectorProblem) -> Scenario {
        do throws(Scenario.Mistake) { return try Scenario(root) } catch {
            throw InspectorProblem(.unprocessableContent, error.reason, pointer: error.value.pointer)
        }
    }

    private func path(_ name: String) throws(InspectorProblem) -> String {
        guard let folder else {
            throw InspectorProblem(.conflict, "start balloon dev with --scenarios and a folder")
        }
        let isPlain = name.utf8.allSatisfy { $0.isDigit || $0.isLetter || "-_".utf8.contains($0) }
        guard isPlain, (1...64).contains(name.utf8.count) else {
            throw InspectorProblem(.badRequest, "a scenario's name has 1 to 64 letters, digits, - and _")
        }
        return "\(folder)/\(name).json"
    }

    private func list() throws -> [UInt8] {
        let names = try folder.map { try Directory.exists($0) ? Directory.names(in: $0) : [] } ?? []
        let files = names.filter { $0.hasSuffix(".json") }.sorted().prefix(Self.maximumFiles)
        let scenarios = files.map { file -> JSONObject in
            let name = String(file.dropLast(".json".count))
            // A file that is no scenario is listed with its problem.
            do {
                let root = try JSONDocument(try read(name)).root
                return ["name": name, "steps": try Self.scenario(root).steps.count]
            } catch {
                return ["name": name, "problem": (error as? InspectorProblem)?.detail ?? "is no JSON"]
            }
        }
        return JSONWriter.object(["folder": folder, "scenarios": scenarios])
    }

    private func read(_ name: String) throws -> [UInt8] {
        let path = try path(name)
        guard try Directory.holds(path) else {
            throw InspectorProblem(.notFound, "the folder has no scenario of this name")
        }
        let file = try File(path, for: .readingGiven)
        guard try file.sizeBytes() <= Self.maximumBytes else {
            throw InspectorProblem(.unprocessableContent, "the file is over 1 MiB")
        }
        let bytes = try file.readAll()
        do { _ = try JSONDocument(bytes) } catch {
            throw InspectorProblem(
                .unprocessableContent, "the file is no JSON: \(error.reason) at byte \(error.offset)")
        }
        return bytes
    }

    private func write(_ root: JSONValue, as name: String) throws -> [UInt8] {
        let path = try path(name)
        let scenario = try Self.scenario(root)
        try Directory.make(Directory.parent(of: path))
        try AtomicFile.write(Array(root.text) + [UInt8(ascii: "\n")], to: path)
        return JSONWriter.object(["name": name, "steps": scenario.steps.count])
    }

    /// Plays a scenario as the named customer, or as a new one, and tells the page about each step.
    private func play(_ scenario: Scenario, as object: JSONValue) async throws -> [UInt8] {
        let pace: Pace = try object["pace"]?.word("the pace is unknown") ?? .atOnce
        guard scenario.longestWait(pausing: pace.pause) <= Self.longestPlay else {
            throw InspectorProblem(
                .unprocessableContent, "its waits are over \(Self.longestPlay.components.seconds) seconds")
        }
        let known = try PhoneCustomer.text(object["customer"])
        let id = try known ?? phone.addCustomer(of: scenario)
        var (book, customer) = try phone.customer(id)
        customer.capabilities = scenario.device.capabilities
        if let locale = scenario.locale { customer.locale = locale }
        customer.intent = scenario.intent ?? customer.intent
        customer.group = scenario.group ?? customer.group
        var run = ScenarioRun(
            customer, phone.gateway, provider: try phone.running.known.provider, user: Phone.user(book))
        let results = await run.play(scenario, pausing: pace.pause) { index, result in
            phone.events.add("scenario") { writer in
                writer.fields([
                    "customer": id, "step": index, "name": result.name, "verdict": result.verdict.name,
                ])
            }
        }
        return JSONWriter.object([
            "customer": id, "passed": results.allSatisfy { $0.verdict == .passed },
            "steps": results.map(\.json),
        ])
    }
}

extension ScenarioRun.Result {
    fileprivate var json: JSONObject {
        var failure: [String]?
        if case .failed(let reasons) = verdict { failure = reasons }
        return [
            "name": name, "verdict": verdict.name, "seconds": (seconds * 1000).rounded() / 1000,
            "failure": failure,
        ]
    }
}

extension ScenarioRun.Result.Verdict {
    fileprivate var name: String {
        switch self {
        case .passed: "passed"
        case .failed: "failed"
        case .skipped: "skipped"
        }
    }
}
