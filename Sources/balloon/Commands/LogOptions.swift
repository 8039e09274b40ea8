import ArgumentParser
import BalloonPOSIX
import Logging
import MessageServer

/// The option for the log level; the default is `BALLOON_LOG_LEVEL` or else `info`.
struct LogOptions: ParsableArguments {
    private static let variable = "BALLOON_LOG_LEVEL"

    @Option(help: "trace, debug, info, notice, warning, error or critical.", transform: parsed)
    var logLevel: Logger.Level?

    /// Sets up logging for the process, and returns its logger, the observer of stages and the levels; called
    /// once.
    ///
    /// The log has text lines on a terminal, and JSON lines otherwise.
    func start() throws -> (logger: Logger, stages: any StageObserver, levels: LogLevels) {
        let level = try logLevel ?? Self.level(in: ProcessEnvironment.variables()) ?? .info
        let levels = LogLevels(level)
        let logger = Self.logger(level, levels)
        let stages: any StageObserver =
            StandardStream.error.isTerminal
            ? LogObserver(logger)
            : JSONStageLog(level: level, levels: levels, isJournal: StandardStream.error.isJournal())
        return (logger, stages, levels)
    }

    /// Sets up logging for a command without log options, at the level that the environment names.
    ///
    /// A command may change the store more than once; the first call sets up the logging of the process.
    static func start() throws -> Logger { try commandLogger.get() }

    private static let commandLogger = Result {
        logger(try level(in: ProcessEnvironment.variables()) ?? .info)
    }

    private static func logger(_ level: Logger.Level, _ levels: LogLevels? = nil) -> Logger {
        let (isTerminal, isJournal) = (StandardStream.error.isTerminal, StandardStream.error.isJournal())
        let form = isTerminal ? textLogLine : JSONLogLine.form(isJournal: isJournal)
        LoggingSystem.bootstrap { _ in LineLogHandler(level: level, levels: levels, form: form) }
        return Logger(label: "balloon")
    }

    /// The level named by the environment; nil when it names none.
    static func level(in environment: [String: String]) throws -> Logger.Level? {
        guard let text = environment[variable] else { return nil }
        guard let level = Logger.Level(rawValue: text) else {
            throw CommandFailure.badVariable(name: variable, hint: "use one of \(levels)")
        }
        return level
    }

    private static let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")

    private static func parsed(_ text: String) throws -> Logger.Level {
        guard let level = Logger.Level(rawValue: text) else {
            throw ValidationError("Use one of \(levels).")
        }
        return level
    }
}
