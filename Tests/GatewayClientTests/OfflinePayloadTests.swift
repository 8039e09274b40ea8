import BalloonHTTP
import BalloonJSON
import BalloonWire
import BusinessMessages
import Simulator
import TestSupport
import Testing

@testable import GatewayClient

@Suite struct OfflinePayloadTests {
    /// A binary property list of `texts`; those at the positions in `wide` are UTF-16, the others ASCII.
    private static func list(_ texts: [String], wide: Set<Int> = []) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        for (index, text) in texts.enumerated() {
            offsets.append(bytes.count)
            let units =
                wide.contains(index)
                ? text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] } : Array(text.utf8)
            let length = wide.contains(index) ? text.utf16.count : units.count
            let marker: UInt8 = wide.contains(index) ? 0x60 : 0x50
            bytes +=
                length < 15
                ? [marker | UInt8(length)] : [marker | 15, 0x11, UInt8(length >> 8), UInt8(length & 255)]
            bytes += units
        }
        let table = bytes.count
        for offset in offsets { bytes += [UInt8(offset >> 8), UInt8(offset & 255)] }
        bytes += [0, 0, 0, 0, 0, 0, 2, 1]
        for number in [texts.count, 0, table] {
            bytes += (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
        }
        return bytes
    }

    private static let reply = Base64.encode(Array(#"{"title":"Tuesday"}"#.utf8))
    private static let query = "?version=1.0&replyMessage=\(reply)&name=A%20b"
    private static let json =
        #"{"interactiveData":{"bid":"x","data":{"version":"1.0","replyMessage":{"title":"Tuesday"},"name":"A b"}}}"#

    private func read(_ bytes: [UInt8]) -> String? {
        readOffline(bytes, bid: "x").map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [[], [2], [1, 2]] as [Set<Int>])
    func `the members of data are read from the archived URL`(wide: Set<Int>) {
        #expect(read(Self.list(["$null", "NSKeyedArchiver", Self.query], wide: wide)) == Self.json)
    }

    @Test func `a payload with another format is not decoded locally`() {
        #expect(read([]) == nil)
        #expect(read(Array("{}".utf8)) == nil)
        #expect(read(Self.list(["$null", Self.query])) == nil)
        #expect(read(Self.list(["NSKeyedArchiver", "?version=1.0"])) == nil)
        #expect(read(Self.list(["NSKeyedArchiver", "?a=%zz"])) == nil)
    }

    @Test(.timeLimit(.minutes(1))) func `long runs of combining marks are read in time`() {
        let marks = String(repeating: "\u{301}\u{323}", count: 15_000)
        let query = "?a=\(marks)&b\(marks)=\(Self.reply)"
        #expect(read(Self.list(["N\(marks)", "NSKeyedArchiver", query], wide: [0, 2])) != nil)
    }

    @Test func `a truncated or changed property list is decoded or refused, without a crash`() {
        let whole = Self.list(["$null", "NSKeyedArchiver", Self.query])
        for length in 0..<whole.count { #expect(BinaryPropertyList(Array(whole[..<length])) == nil) }
        for index in whole.indices {
            for value in [0, 0x5f, 0x6f, 0x7f, 0xff] as [UInt8] {
                var changed = whole
                changed[index] = value
                _ = read(changed)
            }
        }
    }

    @Test func `the payload is decoded locally when decodePayload refuses twice`() async throws {
        let test = try await GatewayUnderTest()
        let reference = try test.reference()
        let key = try AttachmentKey(field: reference.key)
        var payload = GzipCompressor().compress(Self.list(["NSKeyedArchiver", Self.query]))
        let cipher = try AES256CTR(key: key.secret)
        cipher.apply(to: &payload)
        test.gateway.misbehave(at: .blob, .body(payload))
        test.gateway.misbehave(at: .decodePayload, .answer(.badRequest), times: 2)
        let spoilt = try test.reference { spoilt in
            (spoilt.url, spoilt.owner, spoilt.key) = (reference.url, reference.owner, reference.key)
            (spoilt.signature, spoilt.signatureBase64) = (
                reference.signature ?? "", reference.signatureBase64 ?? ""
            )
            spoilt.bid = "x"
            spoilt.sizeBytes = payload.count
        }
        #expect(try await test.resolve(spoilt) == Self.json)
        #expect(test.logs.lines.contains { $0.contains("decoded locally") })
        await test.gateway.stop()
    }
}
