import BalloonPOSIX
import Dispatch
import Synchronization

/// The `record` stage: writes each message's line to its conversation's file, in order, on the partition's
/// executor.
///
/// At most one task records the messages of a partition, so two messages of a conversation are never recorded
/// at the same time.
extension DeliveryScheduler {
    /// The function that writes a message's line and returns the kind under which it was recorded.
    ///
    /// It throws when the write fails. A struct holds the closure, because a `Mutex` of a closure wraps the
    /// closure once more at each read, and keeps the wrapper.
    struct Recorder: Sendable {
        /// The second argument is true when no other message is recorded or delivered at the same time.
        let record: @Sendable (Lease, Bool) throws -> RecordedLine
    }

    /// The state of the `record` stage: its function, and whether it was stopped.
    struct Recording {
        /// Nil until the suspects of the last crash are recorded, and after `stopRecording()`.
        var recorder: Recorder?
        var isStopped = false
    }

    /// Starts recording messages with `record`, each on the executor of its partition.
    ///
    /// Suspects of the last crash are recorded first, one at a time.
    func startRecording(_ record: @escaping @Sendable (Lease, Bool) throws -> RecordedLine) {
        start(Recorder(record: record), behind: partitions[...])
    }

    private func start(_ recorder: Recorder, behind rest: ArraySlice<Partition>) {
        guard holds.contains(.recording), let partition = rest.first else {
            recording.withLock { if !$0.isStopped { $0.recorder = recorder } }
            for partition in partitions { scheduleRecording(in: partition) }
            _ = release(.recording)
            return
        }
        Task(executorPreference: partition.executor) {
            self.recordSuspects(in: partition, recorder)
            self.start(recorder, behind: rest.dropFirst())
        }
    }

    /// Records the suspects of the partition, and the messages before them; runs on the partition's executor.
    private func recordSuspects(in partition: Partition, _ recorder: Recorder) {
        for key in partition.state.withLock({ $0.queues.withUnrecordedSuspects }) {
            while let lease = partition.state.withLock({ $0.queues.nextSuspectToRecord(of: key) }) {
                if recording.withLock({ $0.isStopped }) { return }
                do {
                    let line = try recorder.record(lease, true)
                    let parked = change(key) { $0.record(lease.pending.record, of: key, as: line) }
                    if let parked { resumeWhenDue(parked, of: key) }
                } catch {
                    postponeRecording(of: key)
                    break
                }
            }
        }
    }

    /// Stops recording; returns when current recordings are complete.
    func stopRecording() async {
        recording.withLock { $0 = Recording(isStopped: true) }
        await finishRecordings()
    }

    /// Returns when every recording that has begun is complete.
    func finishRecordings() async {
        for partition in partitions {
            await Task(executorPreference: partition.executor) {}.value
        }
    }

    private func scheduleRecording(in partition: Partition) {
        let begins = partition.state.withLock { state in
            guard !state.isRecording, !state.recordable.isEmpty else { return false }
            state.isRecording = true
            return true
        }
        if begins { spawnRecording(in: partition) }
    }

    func spawnRecording(in partition: Partition) {
        Task(executorPreference: partition.executor) { self.record(in: partition) }
    }

    /// Records until no conversation of the partition has a recordable message; runs on the partition's
    /// executor.
    ///
    /// Up to eight recorded messages are added to `ready` together, because all partitions share its lock.
    private func record(in partition: Partition) {
        var additions: [ReadyConversations.Addition] = []
        var last: (lease: Lease, line: RecordedLine)?
        while true {
            let (parked, addition, next) = partition.state.withLock { state in
                var (parked, addition): (PendingDelivery?, ReadyConversations.Addition?) = (nil, nil)
                if let (lease, line) = last {
                    let key = lease.conversation
                    (parked, addition) = state.change(key) {
                        $0.record(lease.pending.record, of: key, as: line)
                    }
                }
                // The recorder is read under the partition's lock. `start` sets the recorder first and then
                // checks `isRecording`: a task that read no recorder has cleared `isRecording` by then, so
                // `start` starts another task.
                let recorder = recording.withLock { $0.recorder }
                guard let recorder, let key = state.recordable.popFirst() else {
                    state.isRecording = false
                    return (parked, addition, nil as (Recorder, ConversationKey, Lease?)?)
                }
                return (parked, addition, (recorder, key, state.queues.nextToRecord(of: key)))
            }
            if let last, let parked { resumeWhenDue(parked, of: last.lease.conversation) }
            last = nil
            if let addition { additions.append(addition) }
            if additions.count == 8 || (next == nil && !additions.isEmpty) {
                handOver(ready.withLock { ready in additions.flatMap { ready.add($0) } })
                additions.removeAll(keepingCapacity: true)
            }
            guard let (recorder, key, lease) = next else { return }
            guard let lease else { continue }
            do { last = (lease, try recorder.record(lease, false)) } catch { postponeRecording(of: key) }
        }
    }

    private func resumeWhenDue(_ parked: PendingDelivery, of key: ConversationKey) {
        resume(parked.record, of: key, after: remaining(until: parked.due))
    }

    private func postponeRecording(of key: ConversationKey) {
        let times = withQueues(of: key) { $0.postponeRecording(of: key) }
        timers.asyncAfter(deadline: .now() + releaseBackoff.delay(after: Int(times) + 1).dispatchInterval) {
            [weak self] in
            self?.change(key) { $0.resumeRecording(of: key) }
        }
    }
}
