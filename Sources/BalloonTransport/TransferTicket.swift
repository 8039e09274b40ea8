internal import Synchronization

/// The name of one transfer, by which it is cancelled; even before it was started.
final class TransferTicket: Sendable {
    private let isCancelledFlag = Atomic(false)

    var isCancelled: Bool { isCancelledFlag.load(ordering: .relaxed) }

    func cancel() { isCancelledFlag.store(true, ordering: .relaxed) }
}
