import Glibc
import Synchronization

/// A reference to an object that threads read often and replace rarely; reading waits for nobody.
///
/// A `Mutex` around the reference would do the same, but a thread that loses its processor while it holds it stops
/// all others, and they then go through the kernel one after the other.
///
/// Invariant: `reference` owns one reference count of its object. A reader is counted in `readers` from before it
/// loads the reference until it has a reference count of its own; a writer releases the replaced object only after
/// it has seen no reader, and every reader that begins later loads the new one. All four steps are sequentially
/// consistent, so a reader that loaded the old reference was counted before the writer looked.
@safe package final class AtomicReference<Object: AnyObject & Sendable>: Sendable {
    private let reference: Atomic<Unmanaged<Object>>
    private let readers = Atomic(0)
    /// Held by the one writer.
    private let replacing = Mutex(())

    /// Begins with `object`.
    package init(_ object: Object) { unsafe reference = Atomic(Unmanaged.passRetained(object)) }

    deinit { unsafe reference.load(ordering: .acquiring).release() }

    /// The current object.
    package var value: Object {
        readers.add(1, ordering: .sequentiallyConsistent)
        defer { readers.subtract(1, ordering: .sequentiallyConsistent) }
        return unsafe reference.load(ordering: .sequentiallyConsistent).takeUnretainedValue()
    }

    /// Replaces the object by what `change` returns for it; waits for readers, for as long as one copies a reference.
    ///
    /// `change` must not replace the object itself.
    package func replace(_ change: (Object) -> Object) {
        replacing.withLock { _ in
            let new = change(value)
            let old = unsafe reference.exchange(.passRetained(new), ordering: .sequentiallyConsistent)
            while readers.load(ordering: .sequentiallyConsistent) != 0 { sched_yield() }
            unsafe old.release()
        }
    }
}
