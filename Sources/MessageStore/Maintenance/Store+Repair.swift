import BalloonJSON
import BalloonPOSIX
import Logging

extension Store {
    /// What a repair of the journal would give up; empty when nothing is damaged.
    package var journalDamage: JournalRepair {
        let damage = held.damage
        return JournalRepair(
            lostRecords: damage.losses.map(\.records),
            segments: Set(damage.losses.map(\.segment) + damage.blemishes).sorted()
                .map(SegmentName.text),
            heldConversations: damage.held.count, isHarmful: damage.isHarmful)
    }

    /// Gives up the records that are lost, so that the journal is whole again, and hands out what was held back.
    ///
    /// Copies each damaged segment to `damaged/journal` first, with a report of what was given up; then writes to the journal that
    /// these records are abandoned. A message whose end is lost is delivered again; an identifier that is lost counts as new.
    /// Returns what it gave up; throws a ``StoreError``, and then nothing is given up.
    package func repairJournal() async throws -> JournalRepair {
        try await changes.run {
            let repair = self.journalDamage
            if repair.isEmpty { return repair }
            try self.keepDamaged(repair)
            if !repair.lostRecords.isEmpty { try await self.journal.abandon(repair.lostRecords) }
            for lease in self.held.release() {
                _ = self.scheduler.release(lease.pending.record, of: lease.conversation)
            }
            self.outbox.releaseHeld()
            self.logger.notice(
                "the journal was repaired",
                metadata: ["lostRecords": "\(repair.recordsText)", "segments": "\(repair.segments.count)"])
            return repair
        }
    }

    private func keepDamaged(_ repair: JournalRepair) throws(StoreError) {
        let data = DataDirectory(path: directory)
        let folder = data.damagedJournal
        do throws(SystemError) {
            try Directory.make(folder)
            for name in repair.segments {
                let source = data.journal + "/" + name
                // One that is missing cannot be kept.
                guard try Directory.holds(source) else { continue }
                try AtomicFile.write(File(source, for: .reading).readAll(), to: folder + "/" + name)
            }
            try AtomicFile.write(repair.json, to: folder + "/report-\(Timestamp.now().rfc3339).json")
        } catch {
            throw .unavailable(path: folder, error)
        }
    }
}

extension JournalRepair {
    /// `{"lostRecords":[{"from":7,"to":9}],"segments":["000000000001.jsonl"],"heldConversations":1,"isHarmful":true}`.
    package var json: [UInt8] {
        JSONWriter.object { writer in
            writer.key("lostRecords")
            writer.array { writer in
                for range in lostRecords {
                    writer.object { writer in
                        writer.field("from", Int(clamping: range.lowerBound))
                        writer.field("to", Int(clamping: range.upperBound))
                    }
                }
            }
            writer.key("segments")
            writer.array { writer in for segment in segments { writer.string(segment) } }
            writer.field("heldConversations", heldConversations)
            writer.field("isHarmful", isHarmful)
        }
    }

    /// Reads ``json``; nil when it is something else.
    package init?(_ json: [UInt8]) {
        // What is no JSON is something else.
        guard let root = (try? JSONDocument(json))?.root, let lost = root["lostRecords"]?.elements,
            let segments = root["segments"]?.elements, let held = root["heldConversations"]?.int,
            let isHarmful = root["isHarmful"]?.bool
        else { return nil }
        self.init(
            lostRecords: lost.compactMap { range in
                guard let from = range.record("from"), let to = range.record("to"), from <= to else {
                    return nil
                }
                return from...to
            },
            segments: segments.compactMap(\.string), heldConversations: held, isHarmful: isHarmful)
    }
}
