internal import Synchronization

/// The identity of one transfer, with which it can be cancelled even before it starts.
final class TransferTicket: Sendable {
    private let isCancelledFlag = Atomic(false)

    var isCancelled: Bool { isCancelledFlag.load(ordering: .relaxed) }

    func cancel() { isCancelledFlag.store(true, ordering: .relaxed) }
}
