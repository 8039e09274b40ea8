import BalloonHTTP
import Synchronization

/// Creates the answers to requests that are refused while they are read, and reports each as stage `read`.
final class RefusedReads: Sendable {
    private let observer: any StageObserver
    private let references = Mutex(ReferenceSequence())

    init(_ observer: any StageObserver) { self.observer = observer }

    @Sendable func describe(_ refusal: HTTPRefusal) -> HTTPContent {
        let reference = references.withLock { $0.next() }
        let result = StageEvent.Result.refused(status: refusal.status.code, reason: refusal.reason)
        observer.observe(StageEvent(stage: .read, result: result, nanoseconds: 0, reference: reference.text))
        return HTTPContent(text: "\(refusal.status.reason) (reference \(reference.text))\n")
    }
}
