import Synchronization

/// A flag that is set once, when the server has started or begins to drain.
final class DrainFlag: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .relaxed) }
    func set() { flag.store(true, ordering: .relaxed) }
}

/// Whether the last reload of the configuration succeeded; true before the first.
final class ReloadResult: Sendable {
    private let flag = Atomic(true)

    var isSuccess: Bool {
        get { flag.load(ordering: .relaxed) }
        set { flag.store(newValue, ordering: .relaxed) }
    }
}
