internal import Synchronization

/// Identifies one transfer for its cancellation, even before it is started.
final class TransferTicket: Sendable {
    private let isCancelledFlag = Atomic(false)

    var isCancelled: Bool { isCancelledFlag.load(ordering: .relaxed) }

    func cancel() { isCancelledFlag.store(true, ordering: .relaxed) }
}
