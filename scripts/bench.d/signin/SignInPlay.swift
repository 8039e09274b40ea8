import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import Glibc
import Logging
import Simulator

/// The provider, Apple's gateway and the customers of a benchmark, in one process.
///
/// Prints the provider's and the gateway's address, then obeys lines of standard input and prints one line for each:
/// `run URL RATE SECONDS` signs that many customers in each second, `ask URL COUNT` asks customers to sign in and makes the
/// provider silent, and `behave` ends that. The end of the input ends the process.
struct SignInPlay {
    private let secret: Secret
    private let provider: FakeProvider
    private let gateway: FakeGateway
    private let transport: CurlTransport

    init(secretFile: String) throws {
        let text = String(decoding: try File(secretFile, for: .reading).readAll(), as: UTF8.self)
        guard let bytes = Base64.decode(text.filter { !$0.isWhitespace }) else { exit(65) }
        secret = try Secret(bytes)
        let logger = Logger(label: "bench")
        provider = try FakeProvider(
            clients: ["balloon": Secret(Array(SignInBench.clientSecret.utf8))], signing: .es256,
            logger: logger)
        gateway = FakeGateway(mspID: SignInBench.mspID, secret: secret, logger: logger)
        transport = try CurlTransport()
    }

    /// Prints a token with which messages are posted.
    func printToken() { print(customer("").token()) }

    func run() async throws {
        _ = OpenFileLimit.raise()
        _ = try await provider.start()
        _ = try await gateway.start()
        print("provider \(provider.issuer ?? "") gateway \(gateway.baseURL ?? "")")
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            switch words.first {
            case "run" where words.count == 4:
                guard let rate = Int(words[2]), let seconds = Int(words[3]) else { exit(64) }
                await signIn(at: words[1], rate: rate, seconds: seconds)
            case "ask" where words.count == 3:
                guard let count = Int(words[2]) else { exit(64) }
                try await ask(at: words[1], count: count)
            case "behave":
                provider.behave()
                print("behaves")
            default: exit(64)
            }
        }
    }

    private func print(_ line: String) {
        StandardStream.output.write(line + "\n")
    }

    private func customer(_ url: String) -> SimulatedCustomer {
        SimulatedCustomer(
            id: CustomerID("urn:mbid:AQAA\(UInt64.random(in: 0 ... .max))"), business: SignInBench.business,
            server: url, mspID: SignInBench.mspID, secret: secret, gateway: gateway.origin,
            transport: transport)
    }

    /// Writes a text, and returns the message that asks to sign in; nil when it does not arrive.
    private func ask(_ customer: SimulatedCustomer) async throws -> JSONDocument? {
        guard try await customer.post(customer.message(.text, text: "Hello")).status == 200 else {
            return nil
        }
        return await gateway.waitForMessages(customer: customer.id).first?.message
    }

    /// Begins sign-ins at a fixed rate, and prints how many customers were welcomed, and the median and p99 of their times.
    private func signIn(at url: String, rate: Int, seconds: Int) async {
        let began = ContinuousClock.now
        let times = await withTaskGroup(of: Duration?.self) { group in
            for number in 0..<(rate * seconds) {
                group.addTask {
                    try? await Task.sleep(until: began + .seconds(number) / rate)
                    let start = ContinuousClock.now
                    guard (try? await signIn(customer(url))) == true else { return nil }
                    return .now - start
                }
            }
            return await group.reduce(into: [Duration]()) { times, time in if let time { times.append(time) }
            }
        }.sorted()
        let milliseconds = times.map {
            Double($0.components.attoseconds) / 1e15 + Double($0.components.seconds) * 1000
        }
        let median = milliseconds.isEmpty ? 0 : milliseconds[milliseconds.count / 2]
        let p99 = milliseconds.isEmpty ? 0 : milliseconds[milliseconds.count * 99 / 100]
        print("signed in \(times.count) of \(rate * seconds), median \(Int(median)) ms, p99 \(Int(p99)) ms")
    }

    private func signIn(_ customer: SimulatedCustomer) async throws -> Bool {
        guard let message = try await ask(customer) else { return false }
        let issuer = provider.issuer ?? ""
        let device = try DeviceSignIn(
            to: message,
            at: DeviceSignIn.Registration(
                authorizationURL: issuer + "/authorize", tokenURL: issuer + "/token", clientID: "balloon"),
            as: DeviceSignIn.Account(user: "alice"), customer: customer.id)
        let outcome = try await device.run(over: transport)
        let event = DeviceAnswer(to: try DeviceOffer(message), reporting: outcome)
        guard try await customer.post(customer.message(completing: event.json)).status == 200 else {
            return false
        }
        let replies = await gateway.waitForMessages(count: 2, customer: customer.id)
        return replies.last?.message.root["body"]?.string?.hasPrefix("welcome ") ?? false
    }

    /// Asks customers to sign in, and makes the provider silent; prints `asked` and their number.
    private func ask(at url: String, count: Int) async throws {
        var asked = 0
        for _ in 0..<count where try await ask(customer(url)) != nil { asked += 1 }
        provider.misbehave(.slow(.token, .seconds(300)))
        print("asked \(asked)")
    }
}
