import BalloonTransport
import BusinessMessages
import MessageServer
import Simulator

extension KnownServer {
    /// Creates a customer who writes to a business of this server, and returns the URL to post to.
    ///
    /// The URL is `url` or, without one, the server's own; throws when neither is known.
    func customer(
        _ id: String, with device: DeviceOptions, business: String?, to url: String? = nil
    ) throws -> (customer: SimulatedCustomer, url: String) {
        guard let url = url ?? self.url else {
            throw CommandFailure.unknownArgument(
                "the server's URL", reason: "is not known", hint: "name its address with --to")
        }
        let customer = SimulatedCustomer(
            id: CustomerID(id), business: try self.business(business), server: url,
            mspID: configuration.mspID,
            secret: configuration.secret, gateway: gateway, transport: try CurlTransport())
        return (device.applied(to: customer), url)
    }
}

extension SimulatedCustomer {
    /// Pays at the payment sheet of the newest request of the business through the server's endpoints, and returns the
    /// device's event with the outcome; nil when the business did not ask this customer.
    func pay(_ choice: DevicePayment.Choice) async throws -> (event: [UInt8], outcome: DevicePayment.Outcome)?
    {
        let request = try await replies().last { reply in
            reply.business == business
                && reply.message.root["interactiveData"]?["data"]?["payment"]?["merchantSession"] != nil
        }
        guard let message = request?.message else { return nil }
        let (event, outcome) = try await DeviceAnswer.paying(message, choice, over: CurlTransport())
        return (try self.message(event), outcome)
    }

    /// Uploads files and returns the text message with these attachments.
    func message(_ message: [UInt8], attaching paths: [String]) async throws -> [UInt8] {
        var attachments: [[UInt8]] = []
        for path in paths {
            try CommandFile.check(path)
            let name = path.split(separator: "/").last.map(String.init) ?? path
            attachments.append(try await attach(path, name: name, mimeType: MediaType.ofFile(named: path)))
        }
        return try self.message(message, with: attachments)
    }

    /// Completes an answer to a whole message from this customer.
    ///
    /// Apple invites a customer by telephone number. A device declines under that number, but accepts under an opaque
    /// identifier; an accepted invitation therefore gets the identifier of the default customer as its sender.
    func message(_ answer: DeviceAnswer) throws -> [UInt8] {
        let message = try JSONDocument(answer.json).root
        guard id.rawValue.hasPrefix("tel:"), message["type"]?.string == "interactive" else {
            return try self.message(completing: answer.json)
        }
        let sender = JSONWriter.quoted(Simulate.defaultCustomer)
        return try self.message(completing: message.replacing(members: ["sourceId": sender]))
    }

    /// Posts a message; throws a ``CommandFailure`` unless the server accepts it.
    func send(_ message: [UInt8], to url: String, isLarge: Bool = false) async throws {
        let answer: TransportResponse
        do { answer = try await post(message, isLarge: isLarge) } catch TransportError.connectionFailed {
            throw CommandFailure.noAnswer(url: url)
        }
        guard answer.status == 200 else {
            let text = String(decoding: answer.body.prefix(200), as: UTF8.self)
            throw CommandFailure.refused(
                status: answer.status, answer: terminalText(String(text.prefix { !$0.isNewline })))
        }
    }
}
