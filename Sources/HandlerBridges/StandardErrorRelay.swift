import HandlerProtocol
import Logging

/// A relay that copies a child's standard error to the log, with a rate limit, and keeps the latest lines.
struct StandardErrorRelay {
    private static let maximumLineBytes = 4 << 10
    private static let maximumLinesPerSecond = 100

    private let logger: Logger
    private var splitter = LineSplitter(maximumBytes: maximumLineBytes)
    private var second = ContinuousClock.now
    private var linesThisSecond = 0
    private var rate = FloodGauge()
    private var dropped = 0
    private let tail: LogTail

    init(_ logger: Logger, tail: LogTail) {
        self.logger = logger
        self.tail = tail
    }

    /// Processes bytes of standard error; returns true when more lines arrive per second than allowed.
    @discardableResult
    mutating func take(_ bytes: [UInt8]) -> Bool {
        var isFlood = false
        for piece in splitter.take(bytes) {
            isFlood = rate.add() || isFlood
            switch piece {
            case .line(let line): relay(String(decoding: line, as: UTF8.self))
            case .tooLong(let beginning): relay(String(decoding: beginning, as: UTF8.self) + " …")
            }
        }
        return isFlood
    }

    /// Keeps a line in memory without logging it, because the line may quote a customer.
    func keep(_ line: String) { tail.append(line) }

    private mutating func relay(_ line: String) {
        guard !line.isEmpty else { return }
        tail.append(line)
        guard mayLog() else { return }
        logger.log(
            level: Self.level(of: line), "handler wrote to standard error", metadata: ["line": "\(line)"])
    }

    private mutating func mayLog() -> Bool {
        let now = ContinuousClock.now
        if now - second >= .seconds(1) {
            if dropped > 0 {
                logger.warning(
                    "handler logs too much; dropping lines", metadata: ["dropped_lines": "\(dropped)"])
            }
            (second, linesThisSecond, dropped) = (now, 0, 0)
        }
        linesThisSecond += 1
        if linesThisSecond > Self.maximumLinesPerSecond { dropped += 1 }
        return linesThisSecond <= Self.maximumLinesPerSecond
    }

    /// Returns the level at the beginning of a line, as in `[warn] the shop is closed`; info when there is
    /// none.
    static func level(of line: String) -> Logger.Level {
        guard line.hasPrefix("["), let end = line.firstIndex(of: "]") else { return .info }
        let word = line[line.index(after: line.startIndex)..<end].lowercased()
        return switch word {
        case "warn": .warning
        case "err": .error
        default: Logger.Level(rawValue: word) ?? .info
        }
    }
}
