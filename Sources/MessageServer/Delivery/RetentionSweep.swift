import BalloonPOSIX
import Logging
import MessageStore

/// Removes expired messages, dead letters and lines of the audit log, every night at 3:00 UTC.
struct RetentionSweep: Sendable {
    let store: Store
    let configuration: CurrentConfiguration
    let audit: AuditLog
    let logger: Logger

    private static let nightSeconds = 3 * 3600
    /// How long a night waits for a backup: longer than the longest one.
    private static let patience = BackupPin.maximumAge + .seconds(1200)

    /// Starts a task that sweeps until it is cancelled, on a separate thread, because it reads and writes
    /// files.
    func begin() -> Task<Void, Never> {
        Task(executorPreference: BlockingTaskExecutor()) {
            // The stop of the server cancels the sleep.
            while (try? await Task.sleep(for: Self.untilNight(SystemClock.secondsSince1970()))) != nil {
                await run()
            }
        }
    }

    /// The time until the next 3:00 UTC.
    static func untilNight(_ now: Int) -> Duration {
        .seconds(86_400 - (now - nightSeconds) % 86_400)
    }

    /// Removes the messages and dead letters that are due now.
    func trim() async throws -> TrimReport {
        let (messages, now) = (configuration.messagesDays, SteadyClock.forExpiry())
        var report = messages.isEmpty ? TrimReport() : try await store.trim(keepingDays: messages, now: now)
        report.deadLetters = try await store.dropDeadLetters(
            keepingDays: configuration.deadLettersDays, now: now)
        return report
    }

    private func run() async {
        await audit.removeOld(now: SteadyClock.forExpiry())
        let end = ContinuousClock.now + Self.patience
        repeat {
            do {
                let report = try await trim()
                log(report)
                guard report.isPostponed else { return }
            } catch StoreError.filesChanging {
                // A command removes old messages now.
            } catch {
                return logger.warning(
                    "removing old messages and dead letters failed; the next night continues",
                    metadata: ["error": "\(error)"])
            }
            logger.info(
                "old messages are not removed yet, because a backup or another removal of old messages is running"
            )
            guard (try? await Task.sleep(for: .seconds(600))) != nil else { return }
        } while .now < end
        logger.warning("old messages are not removed tonight, because a backup ran for hours")
    }

    private func log(_ report: TrimReport) {
        guard report.lines + report.deadLetters > 0 else { return }
        logger.info(
            "old messages and dead letters removed",
            metadata: [
                "conversations": "\(report.rewritten + report.removed)", "lines": "\(report.lines)",
                "deadLetters": "\(report.deadLetters)",
            ])
    }
}
