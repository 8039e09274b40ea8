import BalloonJSON
import HandlerKit
import HandlerProtocol
import Testing

struct RPCMessageTests {
    @Test(arguments: [
        "", "hello", "42", "[]", "{}", #"{"jsonrpc":"1.0","id":1,"result":{}}"#, #"{"jsonrpc":"2.0"}"#,
        #"{"jsonrpc":"2.0","id":"a","result":{}}"#, #"{"jsonrpc":"2.0","id":1}"#,
        #"{"jsonrpc":"2.0","id":1,"#,
    ])
    func `a line that is not a message is noise`(_ line: String) {
        #expect(RPCMessage(line: Array(line.utf8)) == nil)
    }

    private static let damaged: [(line: String, id: Int?, offset: Int)] = [
        (#"{"jsonrpc": "2.0", "id": 7, "result": {"state": {"price": NaN}}}"#, 7, 58),
        (#"{"result":{"id":1,"a\"}":[{"id":2}],"b":Infinity},"id":31,"jsonrpc":"2.0"}"#, 31, 40),
        ("\u{FEFF}" + #"{"jsonrpc":"2.0","id":7,"result":{"#, 7, 34),
        (#"{"jsonrpc":"2.0","id":7,"method":"reply","params":{"key":NaN}}"#, nil, 0),
        (#"{"jsonrpc":"2.0","id":7,"result":{}}"#, nil, 0), (#"{"id":7,"price":NaN}"#, nil, 0),
        (#"{"jsonrpc":"2.0","id":"a","result":NaN}"#, nil, 0),
        (#"{"jsonrpc":"2.0","result":{"id":7,"a":NaN}}"#, nil, 0),
        (#"{"jsonrpc":"2.0","id":99999999999999999999999,"result":NaN}"#, nil, 0),
        ("Loading \"id\": 7", nil, 0),
        ("", nil, 0), ("\"", nil, 0), ("{\"jsonrpc\":\"2.0\",\"id\\", nil, 0), (#"{"jsonrpc":"#, nil, 0),
    ]

    @Test(arguments: damaged)
    func `an answer that is not JSON fails its call with the place, and any other line fails none`(
        _ line: String, _ id: Int?, _ offset: Int
    ) {
        let answer = DamagedAnswer(line: Array(line.utf8))
        #expect(answer?.id == id)
        guard let problem = answer?.failure.problems.first else { return }
        #expect(problem.found.hasPrefix("a line that is not JSON at byte \(offset): "), "\(problem.found)")
        #expect(!problem.passage.isEmpty)
    }

    private static let beginnings: [(beginning: String, id: Int?)] = [
        (#"{"jsonrpc":"2.0","id":7,"result":{"replies":["aaaa"#, 7),
        (#"{"id": 7, "result": {}, "jsonrpc": "2.0", "more": "aa"#, 7),
        (#"{"jsonrpc":"2.0","id":7,"error":{"code":-32001,"message":"result"#, nil),
        (#"{"jsonrpc":"2.0","id":7,"method":"reply","params":{"result"#, nil),
        (#"{"jsonrpc":"2.0","result":{"id":7,"replies":["aaaa"#, nil), (#"{"jsonrpc":"2.0","id":7"#, nil),
        ("aaaa", nil), ("", nil),
    ]

    @Test(arguments: beginnings)
    func `an answer that is longer than a line may be refuses its call, and any other such line none`(
        _ beginning: String, _ id: Int?
    ) {
        let answer = DamagedAnswer(beginning: Array(beginning.utf8))
        #expect(answer?.id == id)
        #expect(answer?.failure.problems.map(\.rule) == (id == nil ? nil : ["answerSize"]))
    }

    @Test func `a call survives writing and parsing`() throws {
        let line = RPCLine.request(id: 7, method: "event") { $0.field("deliveryId", "a\nb") }
        #expect(line.count { $0 == UInt8(ascii: "\n") } == 1 && line.last == UInt8(ascii: "\n"))
        guard case .request(let id, let method, let params) = RPCMessage(line: line) else {
            Issue.record("not a request")
            return
        }
        #expect(id.int == 7)
        #expect(method == "event")
        #expect(params["deliveryId"]?.string == "a\nb")
    }

    @Test func `a byte order mark before a line is ignored`() {
        let line = [0xEF, 0xBB, 0xBF] + RPCLine.request(id: 7, method: "ping")
        guard case .request(_, "ping", _) = RPCMessage(line: line) else {
            Issue.record("not a request")
            return
        }
        #expect(RPCMessage(line: [0xEF, 0xBB, 0xBF]) == nil)
    }

    @Test func `problems of an error are bounded, and those of a library get their passage`() throws {
        let problem =
            #"{"rule":"bubbleText","pointer":"/a","found":"\#(String(repeating: "x", count: 5000))"}"#
        let list = Array(repeating: problem, count: 150).joined(separator: ",")
        let line =
            #"{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"","data":{"problems":[7,\#(list)]}}}"#
        guard case .failure(1, let failure) = RPCMessage(line: Array(line.utf8)) else {
            Issue.record("not an error")
            return
        }
        #expect(failure.problems.count == 99)
        #expect(failure.problems.allSatisfy { $0.found.utf8.count == 256 })
        #expect(failure.problems.first?.passage == "Apple MSP API, \"InteractiveResponse Dictionary\"")
    }

    @Test func `a rule and a passage that the server does not know are not in the reason, which is logged`()
        throws
    {
        let problem = #"{"rule":"Ana Lopez","pointer":"/a","found":"f","allowed":"a","passage":"Ana's card"}"#
        let line =
            #"{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"","data":{"problems":[\#(problem)]}}}"#
        guard case .failure(1, let failure) = RPCMessage(line: Array(line.utf8)) else {
            Issue.record("not an error")
            return
        }
        let refusal = AnswerRefusal(failure.problems)
        #expect(!refusal.reason.contains("Ana"))
        #expect(failure.problems.map(\.rule) == ["other"])
        // The author sees the name in `balloon handlers logs`.
        #expect(refusal.explanation.contains("found Ana Lopez: f"))
    }

    @Test func `a call without an id is a notification`() {
        guard case .notification("cancel", _) = RPCMessage(line: RPCLine.notification(method: "cancel"))
        else {
            Issue.record("not a notification")
            return
        }
    }

    @Test func `results and errors contain the id of their call`() throws {
        let id = try JSONDocument(Array("12".utf8)).root
        guard case .result(12, let value) = RPCMessage(line: RPCLine.result(id: id) { $0.field("a", 1) })
        else {
            Issue.record("not a result")
            return
        }
        #expect(value["a"]?.int == 1)
        let busy = RPCFailure(code: RPCFailure.Code.busy, message: "later", retryAfter: .milliseconds(1500))
        guard case .failure(12, busy) = RPCMessage(line: RPCLine.failure(id: id, busy)) else {
            Issue.record("not the refusal")
            return
        }
    }
}
