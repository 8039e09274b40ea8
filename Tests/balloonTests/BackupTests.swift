import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import MessageStore
import TestSupport
import Testing

/// `balloon backup` and `balloon restore`.
struct BackupTests {
    private let directory = TemporaryDirectory()
    private var shell: Shell { Shell(directory: directory.path) }

    /// Stores a finished message of each of two customers.
    private func fill() async throws {
        let store = try Store.open(
            StoreConfiguration(directory: directory.file("data")), logger: LogCollector().logger)
        store.startRecording { try store.write($0, as: .text) }
        for customer in ["tel:+49301234", "urn:mbid:kept"] {
            let text = #"{"id":"\#(customer)","v":1,"type":"text","body":"hello of \#(customer)"}"#
            store.append(
                ReceivedMessage(
                    business: BusinessID("b-1"), customer: CustomerID(customer), id: MessageID(customer),
                    message: Array(text.utf8))
            ) { #expect($0 == .stored) }
            let delivery = try #require(await store.nextDelivery(for: BusinessID("b-1")))
            try await store.finish(delivery, result: .handled)
        }
        await store.close()
    }

    @Test(arguments: [false, true])
    func `a backup is read by tar and sha256sum, and restored with the same conversations`(
        withServer: Bool
    ) async throws {
        try await fill()
        let server = withServer ? try await RecordingServer.start(in: directory) : nil
        let done = try await shell.run("balloon backup nightly.tar")
        #expect(done.status == 0 && done.output.hasPrefix("backed up "), "\(done.errors)")
        #expect(try FileStatus.ownerAndMode(of: directory.file("nightly.tar")).mode == 0o600)
        #expect(!Directory.exists(directory.file("nightly.tar.new")))
        let checked = try await shell.run(
            "mkdir out && tar xf nightly.tar -C out && cd out && sha256sum --quiet -c SHA256SUMS && cat manifest.json"
        )
        #expect(checked.status == 0 && checked.output.contains(#""format":1"#), "\(checked.errors)")

        let restored = try await shell.run(
            "balloon restore nightly.tar --data new --erasures data/erasures.jsonl --json")
        #expect(restored.status == 0, "\(restored.errors)")
        let report = try JSONDocument(Array(restored.output.utf8)).root
        #expect(report["erasedConversations"]?.int == 0)
        let lists = try await shell.run("balloon conversations list; balloon conversations list --data new")
        let lines = lists.output.split(separator: "\n")
        #expect(lines.count == 4 && lines.prefix(2) == lines.suffix(2), "\(lists.output)")
        let verified = try await shell.run("balloon conversations verify --data new")
        #expect(verified.status == 0, "\(verified.errors)")
        let identities = try await shell.run("cat data/identity new/identity")
        #expect(Set(identities.output.split(separator: "\n")).count == 2)
        await server?.stop()
    }

    @Test func `root backs up the service's directory into a folder of root's`() async throws {
        // Only root can test what root's commands do.
        guard FileOwner.currentUser == 0 else { return }
        try await fill()
        let done = try await shell.run(
            "chmod 755 . && chown -hR 65534:65534 data && mkdir -m 700 private && balloon backup private/nightly.tar"
        )
        #expect(done.status == 0, "\(done.errors)")
        #expect(try FileStatus.ownerAndMode(of: directory.file("private/nightly.tar")) == (0, 0o600))
    }

    @Test func `a backup goes through a pipe, and customers that were erased later stay erased`() async throws
    {
        try await fill()
        let piped = try await shell.run(
            "balloon backup - --json 2>report | gzip >b.gz && balloon erase --customer tel:+49301234 --yes")
        #expect(piped.status == 0, "\(piped.errors)")
        #expect(try await shell.run("cat report").output.contains(#""files":"#))
        let restored = try await shell.run(
            "gzip -dc b.gz | balloon restore - --data new --erasures data/erasures.jsonl")
        #expect(
            restored.status == 0 && restored.output.contains("erased 1 conversation that the ledger names"),
            "\(restored.errors)")
        let list = try await shell.run("balloon conversations list --data new; grep -r tel:+49301234 new")
        #expect(list.output.contains("urn:mbid:kept") && !list.output.contains("+4930"))
    }

    @Test func `each wrong use is refused with what to do`() async throws {
        try await fill()
        #expect(
            try await shell.run("balloon backup b.tar && balloon restore b.tar --data new --without-erasures")
                .status == 0)
        let truncated = "head -c 3000 b.tar >short.tar; "
        for (command, status, text) in [
            ("balloon backup b.tar", 64, "exists"),
            ("balloon backup none/b.tar", 69, "none/b.tar"),
            ("balloon backup c.tar --data nowhere", 69, "does not exist"),
            ("balloon restore b.tar --data other", 64, "--without-erasures"),
            ("balloon restore b.tar --data new --without-erasures", 64, "not empty"),
            ("balloon restore none.tar --data other --without-erasures", 69, "none.tar"),
            ("balloon restore b.tar --data other --erasures none", 65, "does not exist"),
            ("balloon restore report --data r --without-erasures", 69, "report"),
            (truncated + "balloon restore short.tar --data s --without-erasures", 65, "incomplete"),
            ("balloon conversations list --data s", 65, "did not end"),
            ("balloon restore data/VERSION --data t --without-erasures", 65, "incomplete"),
            ("balloon backup /dev/full", 64, "exists"), ("balloon backup - >/dev/full", 69, "free space"),
        ] {
            let result = try await shell.run(command)
            #expect(result.status == status, "\(command): \(result.status) \(result.errors)")
            #expect(result.errors.contains(text), "\(command): \(result.errors)")
        }
    }
}
