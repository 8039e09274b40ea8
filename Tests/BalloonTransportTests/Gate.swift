import Dispatch

/// A gate at which threads of a test's server wait until it is opened.
final class Gate: Sendable {
    private let group = DispatchGroup()

    init() { group.enter() }

    func wait() { group.wait() }

    func open() { group.leave() }
}
