import Dispatch

/// A gate at which server threads wait until it is opened.
final class Gate: Sendable {
    private let group = DispatchGroup()

    init() { group.enter() }

    func wait() { group.wait() }

    func open() { group.leave() }
}
