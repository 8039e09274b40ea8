import ArgumentParser
import BalloonPOSIX
import BusinessMessages
import MessageServer

/// `balloon validate`: reports what Apple would refuse, and what devices would display wrongly.
struct Validate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check a business's messages before Apple does.",
        discussion: """
            Prints every problem with its place and the passage of Apple's documentation; exits with 65 when Apple would \
            refuse one of the messages. The members that the server adds (id, v, sourceId, destinationId) may be missing.
            """)

    @Argument(help: .value("file", "Files that hold one message each; - is standard input."))
    var files: [String]

    @Flag(help: "Print one JSON object per problem.")
    var json = false

    @Flag(help: "Also require the members that the server adds.")
    var whole = false

    @Option(help: .value("list", "The capabilities of the customer's device: QUICK,LIST,…"))
    var capabilities: String?

    func run() async throws {
        let announced = try capabilities.map(known)
        var isRefused = false
        for file in files {
            let problems = OutboundMessage.problems(
                inJSON: try CommandFile.bytes(file), needsEnvelope: whole, for: announced,
                now: SystemClock.secondsSince1970())
            for problem in problems {
                StandardStream.output.write(
                    json
                        ? ProblemRendering.json(problem, in: file)
                        : Array(ProblemRendering.text(problem, in: file).utf8))
            }
            isRefused = isRefused || problems.hasErrors
        }
        if isRefused { throw ExitCode(CommandStatus.badData.rawValue) }
    }

    /// The capabilities that the option lists; throws for an unknown name.
    ///
    /// A device may announce unknown capabilities, but in the option an unknown name is probably a typing error.
    private func known(_ list: String) throws(CommandFailure) -> Capabilities {
        let result = Capabilities(parsing: list)
        let names = Self.capabilities.map(\.rawValue)
        for token in result.tokens where !names.contains(token.rawValue) {
            throw .unknownArgument(
                "--capabilities", reason: "has \(terminalText(token.rawValue)), which is not a capability",
                hint: "use \(names.joined(separator: ", "))")
        }
        return result
    }

    private static let capabilities: [Capability] = [
        .quickReply, .listPicker, .timePicker, .authentication, .authentication2, .form,
    ]
}

/// Formats a problem for output.
enum ProblemRendering {
    /// Formats a problem as two lines of text.
    ///
    /// The first line has the form of a compiler's message, so that an editor can open the file at the
    /// problem's place.
    static func text(_ problem: MessageProblem, in file: String) -> String {
        let place = "\(file):\(problem.line):\(problem.column)"
        let pointer = problem.pointer.isEmpty ? "/" : problem.pointer
        return terminalText("\(place): \(problem.severity): \(problem.rule): \(pointer)") + "\n"
            + terminalText("  found \(problem.found); allowed \(problem.allowed); \(problem.passage)") + "\n"
    }

    /// One line of JSON with the place of the problem, the rule, and the found and allowed values.
    static func json(_ problem: MessageProblem, in file: String) -> [UInt8] {
        let json = JSONWriter.object([
            "file": file, "line": problem.line, "column": problem.column, "pointer": problem.pointer,
            "severity": problem.severity.rawValue, "rule": problem.rule.rawValue, "found": problem.found,
            "allowed": problem.allowed, "passage": problem.passage,
        ])
        return json + [UInt8(ascii: "\n")]
    }
}
