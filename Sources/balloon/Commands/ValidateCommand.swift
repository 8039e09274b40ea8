import ArgumentParser
import BalloonJSON
import BalloonPOSIX
import BusinessMessages

/// `balloon validate`: what Apple would refuse, and what its devices would show wrongly.
struct Validate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check messages as a business sends them, before Apple does.",
        discussion: """
            Prints every problem with its place and the passage it comes from; exits with 65 when Apple would \
            refuse one of the messages. What the server adds (id, v, sourceId, destinationId) may be missing.
            """)

    @Argument(help: ArgumentHelp("Files that hold one message each; - is standard input.", valueName: "file"))
    var files: [String]

    @Flag(help: "Print one JSON object per problem.")
    var json = false

    @Flag(help: "Also demand what the server adds.")
    var whole = false

    @Option(help: ArgumentHelp("What the customer's device announces: QUICK,LIST,…", valueName: "list"))
    var capabilities: String?

    func run() async throws {
        let announced = try capabilities.map(known)
        var isRefused = false
        for file in files {
            let problems = OutboundMessage.problems(
                inJSON: try CommandFile.bytes(file), needsEnvelope: whole, for: announced)
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

    /// What a person wrote, where a name that there is not is a slip; a device's list may have any.
    private func known(_ list: String) throws(CommandFailure) -> Capabilities {
        let result = Capabilities(parsing: list)
        let names = Self.capabilities.map(\.rawValue)
        for token in result.tokens where !names.contains(token.rawValue) {
            throw .unknownArgument(
                "--capabilities", reason: "has \(terminalText(token.rawValue)), which is none",
                hint: "they are \(names.joined(separator: ", "))")
        }
        return result
    }

    private static let capabilities: [Capability] = [
        .quickReply, .listPicker, .timePicker, .authentication, .authentication2, .form,
    ]
}

/// How a problem is printed.
enum ProblemRendering {
    /// Two lines for a person; the first begins as compilers' messages do, so that editors can jump there.
    static func text(_ problem: MessageProblem, in file: String) -> String {
        let place = "\(file):\(problem.line):\(problem.column)"
        let pointer = problem.pointer.isEmpty ? "/" : problem.pointer
        return terminalText("\(place): \(problem.severity): \(problem.rule): \(pointer)") + "\n"
            + terminalText("  found \(problem.found); allowed \(problem.allowed); \(problem.passage)") + "\n"
    }

    /// One line for a program.
    static func json(_ problem: MessageProblem, in file: String) -> [UInt8] {
        let json = JSONWriter.object(reservingCapacity: 256) { writer in
            writer.field("file", file)
            writer.field("line", problem.line)
            writer.field("column", problem.column)
            writer.field("pointer", problem.pointer)
            writer.field("severity", problem.severity.rawValue)
            writer.field("rule", problem.rule.rawValue)
            writer.field("found", problem.found)
            writer.field("allowed", problem.allowed)
            writer.field("passage", problem.passage)
        }
        return json + [UInt8(ascii: "\n")]
    }
}
