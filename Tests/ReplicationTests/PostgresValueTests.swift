import Testing

@testable import Replication

struct PostgresValueTests {
    /// The bytes are those of `SELECT array_send(…)`, `int8send(…)` and `textsend(…)` of PostgreSQL 15.
    @Test(arguments: [
        (PostgresValue.text("aé"), "61c3a9"),
        (.number(-2), "fffffffffffffffe"),
        (.texts([]), "000000000000000000000019"),
        (.texts(["a", ""]), "00000001000000000000001900000002000000010000000161" + "00000000"),
        (
            .numbers([1, 256]),
            "0000000100000000000000140000000200000001000000080000000000000001" + "000000080000000000000100"
        ),
        (.pieces([[0xFF, 0]]), "000000010000000000000011000000010000000100000002ff00"),
    ])
    func `a parameter has the binary form of its type`(_ value: PostgresValue, _ expected: String) {
        var bytes: [UInt8] = []
        value.write(onto: &bytes)
        #expect(bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == expected)
    }

    @Test func `a result of another size than a number is zero, not a trap`() {
        #expect(PostgresValue.bytes([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE]).number == -2)
        #expect(PostgresValue.bytes([]).number == 0)
        #expect(PostgresValue.bytes(Array(repeating: 0xFF, count: 9)).number == 0)
    }
}
