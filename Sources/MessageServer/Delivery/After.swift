import Dispatch

/// Calls `action` when `time` has passed; costs no task, and is not cancelled: `action` finds nothing to do then.
func after(_ time: Duration, _ action: @escaping @Sendable () -> Void) {
    let nanoseconds = time.components.seconds * 1_000_000_000 + time.components.attoseconds / 1_000_000_000
    DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(nanoseconds)), execute: action)
}
