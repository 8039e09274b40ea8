import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import Glibc
import Logging
import Simulator

/// Apple Pay's service for sessions, Apple's gateway and the customers of a benchmark, in one process.
///
/// Prints the gateway's address, then obeys lines of standard input and prints one line for each: `run URL RATE SECONDS` pays
/// that many times in each second, `updates URL COUNT` selects a shipping method that often at one sheet, and
/// `ask URL COUNT FILE` asks customers to pay and writes a line for each, with the path and the body of the call that pays.
struct PaymentPlay {
    private let folder: String
    private let secret: Secret
    private let sessions: FakeMerchantSessions
    private let gateway: FakeGateway
    private let transport: CurlTransport
    private let issuer: PaymentTokenIssuer

    init(secretFile: String, folder: String) throws {
        self.folder = folder
        secret = try Self.secret(secretFile)
        let logger = Logger(label: "bench")
        sessions = try FakeMerchantSessions(directory: folder, logger: logger)
        gateway = FakeGateway(mspID: PaymentBench.mspID, secret: secret, logger: logger)
        transport = try CurlTransport()
        issuer = try PaymentTokenIssuer(at: SystemClock.secondsSince1970())
    }

    private static func secret(_ file: String) throws -> Secret {
        let text = String(decoding: try File(file, for: .reading).readAll(), as: UTF8.self)
        guard let bytes = Base64.decode(text.filter { !$0.isWhitespace }) else { exit(65) }
        return try Secret(bytes)
    }

    /// Prints a token with which messages are posted.
    static func printToken(secretFile: String) throws {
        let customer = SimulatedCustomer(
            id: CustomerID(""), business: PaymentBench.business, server: "", mspID: PaymentBench.mspID,
            secret: try secret(secretFile), gateway: nil, transport: try CurlTransport())
        print(customer.token())
    }

    func run() async throws {
        _ = OpenFileLimit.raise()
        try await sessions.start()
        try AtomicFile.write(Array((sessions.sessionURL ?? "").utf8), to: folder + "/session-url")
        _ = try await gateway.start()
        Self.print("gateway \(gateway.baseURL ?? "")")
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            switch words.first {
            case "run" where words.count == 4:
                guard let rate = Int(words[2]), let seconds = Int(words[3]) else { exit(64) }
                await pay(at: words[1], rate: rate, seconds: seconds)
            case "updates" where words.count == 3:
                guard let count = Int(words[2]) else { exit(64) }
                try await update(at: words[1], count: count)
            case "ask" where words.count == 4:
                guard let count = Int(words[2]) else { exit(64) }
                try await ask(at: words[1], count: count, writing: words[3])
            default: exit(64)
            }
        }
    }

    private static func print(_ line: String) { StandardStream.output.write(line + "\n") }

    private func customer(_ url: String) -> SimulatedCustomer {
        SimulatedCustomer(
            id: CustomerID("urn:mbid:AQAA\(UInt64.random(in: 0 ... .max))"), business: PaymentBench.business,
            server: url, mspID: PaymentBench.mspID, secret: secret, gateway: gateway.origin,
            transport: transport)
    }

    /// Writes "pay", and returns the message that asks for a payment; nil when it does not arrive.
    private func ask(_ customer: SimulatedCustomer) async throws -> JSONDocument? {
        guard try await customer.post(customer.message(.text, text: "pay")).status == 200 else { return nil }
        return await gateway.waitForMessages(customer: customer.id).first?.message
    }

    /// Begins payments at a fixed rate, and prints how many customers were thanked, and the median and p99 of their times.
    private func pay(at url: String, rate: Int, seconds: Int) async {
        let began = ContinuousClock.now
        let times = await withTaskGroup(of: Duration?.self) { group in
            for number in 0..<(rate * seconds) {
                group.addTask {
                    try? await Task.sleep(until: began + .seconds(number) / rate)
                    let start = ContinuousClock.now
                    guard (try? await pay(customer(url))) == true else { return nil }
                    return .now - start
                }
            }
            return await group.reduce(into: [Duration]()) { times, time in if let time { times.append(time) }
            }
        }
        Self.print(
            "paid \(times.count) of \(rate * seconds), \(Self.summary(times, in: .milliseconds(1))) ms")
    }

    private func pay(_ customer: SimulatedCustomer) async throws -> Bool {
        guard let message = try await ask(customer) else { return false }
        var choice = DevicePayment.Choice()
        choice.shippingMethod = "post"
        let payment = try DevicePayment(to: message, issuer: issuer, at: SystemClock.secondsSince1970())
        let outcome = try await payment.run(choice, over: transport)
        let event = DeviceAnswer(to: try DeviceOffer(message), reporting: outcome.state)
        let answer = try await customer.post(customer.message(completing: event.json))
        guard answer.status == 200, outcome.state == .paid else { return false }
        let replies = await gateway.waitForMessages(count: 2, customer: customer.id)
        return replies.last?.message.root["body"]?.string?.hasPrefix("Thank you") ?? false
    }

    /// Selects a shipping method again and again, and prints the median and p99 in microseconds.
    private func update(at url: String, count: Int) async throws {
        guard let message = try await ask(customer(url)), let data = message.root["interactiveData"]?["data"],
            let address = data["payment"]?["endpoints"]?["shippingMethodUpdateUrl"]?.string,
            let identifier = data["requestIdentifier"]?.string
        else { exit(65) }
        var times: [Duration] = []
        for number in 0..<count {
            let method = number.isMultiple(of: 2) ? "post" : "bicycle"
            let body =
                #"{"requestIdentifier":"\#(identifier)","version":1,"payment":{"shippingMethod":{"identifier":"\#(method)"}}}"#
            let start = ContinuousClock.now
            let answer = try await transport.send(
                TransportRequest(method: "POST", url: address, body: Array(body.utf8), allowsPlainHTTP: true))
            times.append(.now - start)
            guard (try? JSONDocument(answer.body))?.root["newTotal"] != nil else { exit(65) }
        }
        Self.print(Self.summary(times, in: .microseconds(1)))
    }

    /// Asks customers to pay; prints `asked` and their number.
    private func ask(at url: String, count: Int, writing file: String) async throws {
        var lines: [UInt8] = []
        var asked = 0
        for _ in 0..<count {
            guard let message = try await ask(customer(url)),
                let data = message.root["interactiveData"]?["data"],
                let address = data["payment"]?["endpoints"]?["paymentGatewayUrl"]?.string,
                let identifier = data["requestIdentifier"]?.string
            else { continue }
            asked += 1
            let token = Base64.encode(Array(identifier.utf8))
            let path = address.dropFirst(url.utf8.count)
            lines +=
                #"\#(path) {"requestIdentifier":"\#(identifier)","version":1,"payment":{"paymentToken":{"paymentData":{"data":"\#(token)"}},"shippingMethod":{"identifier":"bicycle"}}}"#
                .utf8
            lines.append(0x0A)
        }
        try AtomicFile.write(lines, to: file)
        Self.print("asked \(asked)")
    }

    private static func summary(_ times: [Duration], in unit: Duration) -> String {
        let sorted = times.sorted()
        guard !sorted.isEmpty else { return "none" }
        return
            "median \(Int(sorted[sorted.count / 2] / unit)), p99 \(Int(sorted[sorted.count * 99 / 100] / unit))"
    }
}
