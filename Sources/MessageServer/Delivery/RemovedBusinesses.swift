import BalloonPOSIX
import BusinessMessages
import Logging
import MessageStore

/// Ends the messages of businesses that were removed from the configuration; checks at the start, and once an
/// hour.
///
/// An unfinished message prevents the removal of its journal segment and of all later segments. A business
/// counts as removed from the first check that does not find it; a file keeps that time for later processes.
/// A mistaken reload therefore does not end messages at once, however old they are.
struct RemovedBusinesses: Sendable {
    let store: Store
    /// The minimum time since the removal of a business and since its latest message, before its messages are ended.
    let age: @Sendable () -> Duration
    /// Whether a business is in the configuration.
    let isServed: @Sendable (BusinessID) -> Bool
    let logger: Logger
    private let file: String
    /// The time of the first check that did not find each business.
    private var missedSince: [BusinessID: Timestamp]

    init(
        store: Store, dataDirectory: String, age: @escaping @Sendable @autoclosure () -> Duration,
        logger: Logger,
        isServed: @escaping @Sendable (BusinessID) -> Bool
    ) {
        self.store = store
        self.age = age
        self.logger = logger
        self.isServed = isServed
        file = dataDirectory + "/removed.json"
        missedSince = Self.read(file)
    }

    /// Checks the businesses at once and then every hour, until the store stops leasing.
    func run() async {
        var looks = self
        repeat { await looks.look(at: SteadyClock.now()) } while await store.pause(for: .seconds(3600))
    }

    /// Ends the messages of the businesses whose removal and whose latest message are old enough.
    mutating func look(at now: Timestamp) async {
        var missing: [BusinessID: Timestamp] = [:]
        for business in store.pendingBusinesses where !isServed(business) {
            // A time in the future counts as now: the clock of an earlier process may have been ahead.
            missing[business] = min(missedSince[business] ?? now, now)
        }
        keep(missing)
        let age = age()
        let removed = Set(missing.filter { $0.value.advanced(by: age) <= now }.keys)
        do {
            let count = try await store.endPending(
                of: removed, olderThan: age, reason: "the business was removed")
            if count == 0 { return }
            logger.warning(
                "messages of removed businesses became dead letters", metadata: ["count": "\(count)"])
        } catch {
            logger.warning(
                "messages of removed businesses could not be made dead letters; the next check is in an hour",
                metadata: ["error": "\(error)"])
        }
    }

    private mutating func keep(_ missing: [BusinessID: Timestamp]) {
        guard missing != missedSince else { return }
        missedSince = missing
        let json = JSONWriter.object { writer in
            for (business, since) in missing.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                writer.field(business.rawValue, Int(clamping: since.milliseconds))
            }
        }
        do throws(SystemError) { try AtomicFile.write(json, to: file) } catch {
            logger.warning(
                "the times at which businesses were removed could not be saved; after a restart, their messages wait the full time again before they become dead letters",
                metadata: ["error": "\(error)"])
        }
    }

    private static func read(_ path: String) -> [BusinessID: Timestamp] {
        // Without a readable file, a business's removal counts from this process's first check.
        guard let bytes = try? File(path, for: .reading).readAll(), let document = try? JSONDocument(bytes)
        else { return [:] }
        var missed: [BusinessID: Timestamp] = [:]
        for (business, since) in document.root.members {
            guard let milliseconds = since.int else { continue }
            missed[BusinessID(business)] = Timestamp(milliseconds: Int64(milliseconds))
        }
        return missed
    }
}
