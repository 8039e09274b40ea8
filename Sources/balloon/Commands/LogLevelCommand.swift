import ArgumentParser
import BalloonJSON
import BalloonPOSIX
import Logging
import MessageServer

/// `balloon log-level`: shows or changes the log level of the running server.
struct LogLevelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log-level",
        abstract: "Show the log level of the running server, or change it for some time.",
        discussion: """
            Without a level it shows the current one. The change ends after --for, after reset, or with a restart.
            """)

    @Argument(
        help: "trace, debug, info, notice, warning, error or critical; or reset to end a change.",
        transform: parsed)
    var level: String?

    @Option(help: .value("slug", "Change only the lines of this business."))
    var business: String?

    @Option(
        name: .customLong("for"),
        help: .value("time", "The time of the change, such as 30s, 10m or 2h; 1 s to 24 h."),
        transform: seconds)
    var time = 600

    @OptionGroup var options: ReadingOptions

    private static let reset = "reset"

    func validate() throws {
        try require(business == nil || (level != nil && level != Self.reset), "--business needs a level.")
    }

    func run() async throws {
        let socket = try ControlSocket(data: options.data)
        let answer: [UInt8]
        do {
            if let level {
                answer = try await socket.ask(ControlOperations.changeLogLevel, change(to: level))
            } else {
                answer = try await socket.ask(ControlOperations.logLevel, Nothing())
            }
        } catch CommandFailure.refused(status: 404, answer: _) {
            throw CommandFailure.unknownArgument(
                "\"\(terminalText(business ?? ""))\"", reason: "is not a business of the running server",
                hint: "run balloon handlers list to see the businesses")
        }
        let root = try JSONDocument(answer).root
        options.write(Self.text(root), json: terminalJSON(String(decoding: answer, as: UTF8.self)) + "\n")
    }

    private func change(to level: String) -> LogLevelChange {
        var change = LogLevelChange()
        change.isReset = level == Self.reset
        guard !change.isReset else { return change }
        change.level = Logger.Level(rawValue: level)
        (change.seconds, change.business) = (time, business)
        return change
    }

    /// Returns the answer as a line: `debug for fish for 9 min 58 s, then info`, or `info`.
    static func text(_ answer: JSONValue) -> String {
        let base = answer["level"]?.string ?? ""
        guard let change = answer["change"], let level = change["level"]?.string else {
            return terminalText(base) + "\n"
        }
        let business = change["business"]?.string.map { " for \($0)" } ?? ""
        let time = StatusRendering.duration(change["seconds"]?.int ?? 0)
        return terminalText("\(level)\(business) for \(time), then \(base)") + "\n"
    }

    private static func parsed(_ text: String) throws -> String {
        guard text == reset || Logger.Level(rawValue: text) != nil else {
            let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("Use one of \(levels), or reset.")
        }
        return text
    }

    /// Parses a time with a unit and returns its seconds; throws for other texts, and for times outside 1 s
    /// to 24 h.
    static func seconds(_ text: String) throws -> Int {
        let factor = ["s": 1, "m": 60, "h": 3600][text.suffix(1)]
        guard let factor, let count = Int(text.dropLast()), (1...86_400 / factor).contains(count) else {
            throw ValidationError("Write a time such as 30s, 10m or 2h, from 1s to 24h.")
        }
        return count * factor
    }
}
