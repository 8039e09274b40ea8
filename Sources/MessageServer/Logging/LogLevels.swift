package import BusinessMessages
package import Logging
import Synchronization

/// The minimum level of log lines, which an operator can change for some time, for one business or for all lines.
///
/// Without a change, each call costs one atomic load.
package final class LogLevels: Sendable {
    /// A change of the level.
    package struct Change: Sendable {
        /// The level that replaces the level of each logger.
        package let level: Logger.Level
        /// The business whose lines are concerned; nil for all lines.
        package let business: BusinessID?
        /// The slug of this business, as some lines name it.
        let slug: String?
        /// The end of the change.
        let end: ContinuousClock.Instant

        /// The remaining time at `now`; not negative.
        package func remaining(at now: ContinuousClock.Instant = .now) -> Duration { max(.zero, end - now) }

        fileprivate func concerns(_ name: String?) -> Bool {
            guard let business else { return true }
            return name == business.rawValue || (name != nil && name == slug)
        }
    }

    /// The level without a change.
    package let base: Logger.Level
    private let change = Mutex<Change?>(nil)
    private let isChanged = Atomic(false)

    /// Creates levels without a change.
    package init(_ base: Logger.Level) { self.base = base }

    /// Changes the level for `time`; replaces an earlier change.
    func change(to level: Logger.Level, of business: (id: BusinessID, slug: String)?, for time: Duration) {
        change.withLock {
            $0 = Change(level: level, business: business?.id, slug: business?.slug, end: .now + time)
            isChanged.store(true, ordering: .releasing)
        }
    }

    /// Ends a change.
    func reset() {
        change.withLock {
            $0 = nil
            isChanged.store(false, ordering: .releasing)
        }
    }

    /// The change in effect; nil when there is none or its time is over.
    package var current: Change? {
        guard isChanged.load(ordering: .acquiring) else { return nil }
        return change.withLock { change in
            guard let current = change, current.end > .now else {
                change = nil
                isChanged.store(false, ordering: .releasing)
                return nil
            }
            return current
        }
    }

    /// Returns the lowest level of a line that a logger with the level `own` may write.
    package func minimum(_ own: Logger.Level) -> Logger.Level {
        guard let current else { return own }
        return current.business == nil ? current.level : min(own, current.level)
    }

    /// Returns the minimum level of a business's lines for a logger with the level `own`.
    ///
    /// `business` is the identifier or the slug of the business.
    package func threshold(_ own: Logger.Level, business: @autoclosure () -> String?) -> Logger.Level {
        guard let current, current.concerns(business()) else { return own }
        return current.level
    }
}

extension Logger.Level {
    /// The priority of a line for systemd's journal, as its first characters (sd-daemon(3)).
    package var journalPriority: String {
        switch self {
        case .trace, .debug: "<7>"
        case .info: "<6>"
        case .notice: "<5>"
        case .warning: "<4>"
        case .error: "<3>"
        case .critical: "<2>"
        }
    }
}
