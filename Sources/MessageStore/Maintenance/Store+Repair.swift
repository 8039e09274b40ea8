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
                        .map { "\($0.id)" })
            })
    }

    private func damage(holding conversations: [JournalRepair.Held]) -> JournalRepair {
        let damage = held.damage
        let folder = DataDirectory(path: directory).journal + "/"
        let names = Set(damage.losses.map(\.segment) + damage.blemishes).sorted().map(SegmentName.text)
        return JournalRepair(
            lostRecords: damage.losses.map(\.records),
            segments: names.filter { Directory.exists(folder + $0) },
            missingSegments: names.filter { !Directory.exists(folder + $0) },
            heldConversations: damage.held.count, held: conversations, isHarmful: damage.isHarmful)
    }

    /// Declares the lost records abandoned, so that the journal is intact again, and resumes held deliveries.
    ///
    /// Copies each damaged segment to `damaged/journal` first, with a report, and then replaces the invalid
    /// lines in it by blank ones. A message whose end is lost is
    /// delivered again. A message whose id is lost counts as new when a sender repeats it. Returns the
    /// abandoned records. Throws a ``StoreError``; then held deliveries are not resumed.
    package func repairJournal() async throws -> JournalRepair {
        try await changes.run {
            let repair = self.journalDamage
            if repair.isEmpty { return repair }
            try self.keepDamaged(repair)
            if !repair.lostRecords.isEmpty { try await self.journal.abandon(repair.lostRecords) }
            try self.blankInvalidLines(of: repair.segments)
            for lease in self.held.endDamage() {
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
        try StoreError.naming(folder) { () throws(SystemError) in
            try Directory.make(folder)
            for name in repair.segments {
                let source = data.journal + "/" + name
                // The retention may have removed the segment since the start.
                guard try Directory.holds(source) else { continue }
                try AtomicFile.write(File(source, for: .reading).readAll(), to: folder + "/" + name)
            }
            try AtomicFile.write(repair.json, to: folder + "/report-\(Timestamp.now().rfc3339).json")
        }
    }
}

extension Store {
    /// Replaces everything in these segments that is not a valid line by blank lines, and removes a segment
    /// without any valid line.
    ///
    /// The valid lines keep their places, which the store has in memory. No segment is still being written:
    /// the damage was found when the store was opened.
    private func blankInvalidLines(of segments: [String]) throws(StoreError) {
        let folder = DataDirectory(path: directory).journal
        let abandoned = try JournalReader(folder).abandoned
        for name in segments {
            let path = folder + "/" + name
            guard let segment = SegmentName.firstRecord(name), Directory.exists(path) else { continue }
            try StoreError.naming(path) { () throws(SystemError) in
                let hasLines = try SegmentLines.blankInvalid(
                    in: path, firstRecord: segment, abandoned: abandoned)
                if !hasLines {
                    try Directory.remove(path)
                    try Directory.synchronize(folder)
                }
            }
        }
    }
}

extension SegmentLines {
    /// Replaces everything in a segment's file that is not a valid line by line feeds, and ends the file after
    /// its last valid line; returns whether there is one.
    fileprivate static func blankInvalid(
        in path: String, firstRecord: UInt64, abandoned: AbandonedRecords
    ) throws(SystemError) -> Bool {
        var lines = SegmentLines(
            try File(path, for: .reading), firstRecord: firstRecord, abandoned: abandoned)
        let file = try File(path, for: .overwriting)
        var end = 0
        while let line = try lines.next() {
            let place = lines.location(of: line)
            try file.blank(end..<Int(place.offset))
            end = place.endBytes
        }
        // A snapshot counts a segment as changed when something follows its last line.
        if end < (try file.sizeBytes()) { try file.truncate(to: end) }
        try file.synchronizeData()
        return lines.scan.lines > 0
    }
}

extension File {
    /// Fills a range of the file with line feeds, and writes nothing where it has only line feeds.
    fileprivate func blank(_ range: Range<Int>) throws(SystemError) {
        let stepBytes = 1 << 20
        for start in stride(from: range.lowerBound, to: range.upperBound, by: stepBytes) {
            let count = min(stepBytes, range.upperBound - start)
            let blanks = [UInt8](repeating: UInt8(ascii: "\n"), count: count)
            if try read(at: start, count: count) != blanks { try write(blanks, at: start) }
        }
    }
}

extension JournalRepair {
    /// The repair as JSON; `missingSegments` and `held` are missing when they would be empty.
    ///
    /// `{"lostRecords":[{"from":7,"to":9}],"segments":["000000000001.jsonl"],"missingSegments":["000000000007.jsonl"],`
    /// `"heldConversations":1,"isHarmful":true,`
    /// `"held":[{"business":"…","customer":"…","replies":["57.1"]}]}`
    package var json: [UInt8] {
        let lost: [JSONObject] = lostRecords.map {
            ["from": Int(clamping: $0.lowerBound), "to": Int(clamping: $0.upperBound)]
        }
        let held: [JSONObject] = held.map {
            ["business": $0.business, "customer": $0.customer, "replies": $0.replies]
        }
        return JSONWriter.object([
            "lostRecords": lost, "segments": segments,
            "missingSegments": missingSegments.isEmpty ? nil : missingSegments,
            "heldConversations": heldConversations, "isHarmful": isHarmful,
            "held": held.isEmpty ? nil : held,
        ])
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
            segments: segments.compactMap(\.string),
            missingSegments: root["missingSegments"]?.elements.compactMap(\.string) ?? [],
            heldConversations: held,
            held: root["held"]?.elements.compactMap { held in
                guard let business = held["business"]?.string, let customer = held["customer"]?.string
                else { return nil }
                return Held(
                    business: business, customer: customer,
                    replies: held["replies"]?.elements.compactMap(\.string) ?? [])
            } ?? [], isHarmful: isHarmful)
    }
}
