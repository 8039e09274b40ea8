import Synchronization

/// A flag that several threads read and set.
final class AtomicFlag: Sendable {
    private let flag: Atomic<Bool>

    init(_ isSet: Bool = false) { flag = Atomic(isSet) }

    var isSet: Bool {
        get { flag.load(ordering: .relaxed) }
        set { flag.store(newValue, ordering: .relaxed) }
    }
}
