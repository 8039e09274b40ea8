import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import Logging

extension Store {
    /// The damage of the journal, without the list of held conversations; empty for an intact journal.
    package var journalDamage: JournalRepair { damage(holding: []) }

    /// The preview of a journal repair, with the first held conversations and their queued replies.
    package var repairPreview: JournalRepair {
        let conversations = held.damage.held.sorted {
            ($0.business.rawValue, $0.customer.rawValue) < ($1.business.rawValue, $1.customer.rawValue)
        }
        return damage(
            holding: conversations.prefix(JournalRepair.maximumHeld).map { conversation in
                JournalRepair.Held(
                    business: conversation.business.rawValue, customer: conversation.customer.rawValue,
                    replies: outbox.queued(of: conversation, maximum: JournalRepair.Held.maximumReplies)
                        .map { "\($0.0.id)" })
            })
    }

    private func damage(holding conversations: [JournalRepair.Held]) -> JournalRepair {
        let damage = held.damage
        return JournalRepair(
            lostRecords: damage.losses.map(\.records),
            segments: Set(damage.losses.map(\.segment) + damage.blemishes).sorted()
                .map(SegmentName.text),
            heldConversations: damage.held.count, held: conversations, isHarmful: damage.isHarmful)
    }

    /// Declares the lost records abandoned, so that the journal is intact again, and resumes held deliveries.
    ///
    /// Copies each damaged segment to `damaged/journal` first, with a report. A message whose end is lost is
    /// delivered again. A message whose id is lost counts as new when a sender repeats it. Returns the
    /// abandoned records. Throws a ``StoreError``; then held deliveries are not resumed.
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
                "journal repaired",
                metadata: ["lost_records": "\(repair.recordsText)", "segments": "\(repair.segments.count)"])
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
                // A whole segment may be missing, and cannot be copied then.
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
    /// The repair as JSON; `held` is missing when no conversation is held back.
    ///
    /// `{"lostRecords":[{"from":7,"to":9}],"segments":["000000000001.jsonl"],"heldConversations":1,"isHarmful":true,`
    /// `"held":[{"business":"…","customer":"…","replies":["57.1"]}]}`
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
            if held.isEmpty { return }
            writer.key("held")
            writer.array { writer in
                for conversation in held {
                    writer.object { writer in
                        writer.field("business", conversation.business)
                        writer.field("customer", conversation.customer)
                        writer.key("replies")
                        writer.array { writer in for reply in conversation.replies { writer.string(reply) } }
                    }
                }
            }
        }
    }

    /// Parses ``json``; nil when it has another form.
    package init?(_ json: [UInt8]) {
        // Invalid JSON has another form.
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
            segments: segments.compactMap(\.string), heldConversations: held,
            held: root["held"]?.elements.compactMap { held in
                guard let business = held["business"]?.string, let customer = held["customer"]?.string
                else { return nil }
                return Held(
                    business: business, customer: customer,
                    replies: held["replies"]?.elements.compactMap(\.string) ?? [])
            } ?? [], isHarmful: isHarmful)
    }
}
