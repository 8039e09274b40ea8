import BalloonPOSIX
import GatewayClient
import Logging
import MessageStore

/// Deletes expired attachments and expired uploads when the server starts, and then once an hour.
struct AttachmentSweep: Sendable {
    let files: AttachmentFiles
    let uploads: UploadedFiles
    let dataDirectory: String
    let configuration: CurrentConfiguration
    let logger: Logger

    /// Removes incomplete downloads and uploads of an earlier process; called before the first download or
    /// upload.
    func removeUnfinished() {
        do throws(SystemError) {
            try files.removeUnfinished()
            try uploads.removeUnfinished()
        } catch { report(error) }
    }

    /// Starts a task that sweeps until it is cancelled.
    func begin() -> Task<Void, Never> {
        .repeating(every: .seconds(3600)) {
            do throws(SystemError) { try uploads.sweep() } catch { report(error) }
            sweep(at: Int(SteadyClock.forExpiry().milliseconds / 1000))
        }
    }

    private func sweep(at now: Int) {
        let periods = AttachmentPeriods(
            configuration.attachments.retention, daysByBusiness: configuration.attachmentsDays)
        if periods.keepAll { return }
        do {
            guard let permit = try FileChangePermit(dataDirectory: dataDirectory) else {
                return logger.info("expired attachments are kept until the running backup ends")
            }
            defer { withExtendedLifetime(permit) {} }
            let count = try files.sweep(at: now, periods)
            if count > 0 { logger.info("expired attachments deleted", metadata: ["files": "\(count)"]) }
        } catch { report(error) }
    }

    private func report(_ error: any Error) {
        logger.warning("sweep of expired attachments failed", metadata: ["error": "\(error)"])
    }
}
