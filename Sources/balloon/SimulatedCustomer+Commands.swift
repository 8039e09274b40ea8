import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import Simulator

extension KnownServer {
    /// A customer who writes to a business of the server, or to the server at `url`.
    func customer(
        _ id: String, with device: DeviceOptions, business: String?, to url: String? = nil
    ) throws -> (customer: SimulatedCustomer, url: String) {
        guard let url = url ?? self.url else {
            throw CommandFailure.unknownArgument(
                "the server's URL", reason: "is not known", hint: "name its address with --to")
        }
        let customer = SimulatedCustomer(
            id: CustomerID(id), business: try self.business(business), server: url, mspID: mspID,
            secret: secret, gateway: gateway, transport: try CurlTransport())
        return (device.applied(to: customer), url)
    }
}

extension SimulatedCustomer {
    /// Adds files to a text.
    func message(_ message: [UInt8], attaching paths: [String]) async throws -> [UInt8] {
        var attachments: [[UInt8]] = []
        for path in paths {
            try CommandFile.check(path)
            let name = path.split(separator: "/").last.map(String.init) ?? path
            attachments.append(
                try await attach(path, name: name, mimeType: SendContent.mediaType(of: path)))
        }
        return try self.message(message, with: attachments)
    }

    /// The whole message of an answer.
    ///
    /// A device declines an invitation from its telephone number, and accepts it from an opaque identifier: here that of the
    /// default customer, who then writes on.
    func message(_ answer: DeviceAnswer) throws -> [UInt8] {
        let message = try JSONDocument(answer.json).root
        guard id.rawValue.hasPrefix("tel:"), message["type"]?.string == "interactive" else {
            return try self.message(completing: answer.json)
        }
        var sender = JSONWriter()
        sender.string(Simulate.defaultCustomer)
        return try self.message(completing: message.replacing(members: ["sourceId": sender.finish()]))
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
