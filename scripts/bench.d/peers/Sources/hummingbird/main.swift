import Foundation
import HTTPTypes
import Hummingbird
import JWTKit
import Logging
import NIOCore
import NIOPosix

// hummingbird THREADS [SECRET-FILE MSP-ID [grdb|fsync FOLDER]]: GET /livez, and POST /message as the usual stack
// would do it: jwt-kit, zlib, JSONDecoder, and then nothing, GRDB or a file.

struct Claims: JWTPayload {
    let aud: AudienceClaim
    let iat: IssuedAtClaim
    func verify(using algorithm: some JWTAlgorithm) throws {}
}

let arguments = Array(CommandLine.arguments.dropFirst())
let threads = arguments.first.flatMap { Int($0) } ?? 1
let router = Router()
router.get("livez") { _, _ in "ok\n" }

if arguments.count > 2 {
    let text = try String(contentsOfFile: arguments[1], encoding: .utf8)
    guard let secret = Data(base64Encoded: text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
        exit(64)
    }
    let mspID = arguments[2]
    let keys = JWTKeyCollection()
    await keys.add(hmac: HMACKey(key: .init(data: secret)), digestAlgorithm: .sha256)
    let storage: (any Storage)? =
        switch arguments.dropFirst(3).first {
        case "grdb"?: try DatabaseStorage(folder: arguments[4])
        case "fsync"?: try FileStorage(folder: arguments[4])
        default: nil
        }
    guard let id = HTTPField.Name("id"), let source = HTTPField.Name("source-id") else { exit(70) }
    router.post("message") { request, _ -> HTTPResponse.Status in
        guard let authorization = request.headers[.authorization], authorization.hasPrefix("Bearer ") else {
            return .unauthorized
        }
        guard let claims = try? await keys.verify(String(authorization.dropFirst(7)), as: Claims.self),
            claims.aud.value.contains(mspID), abs(claims.iat.value.timeIntervalSinceNow) < 3600
        else { return .forbidden }
        let buffer = try await request.body.collect(upTo: 1 << 20)
        let body = try inflated(Array(buffer.readableBytesView))
        let message = try JSONDecoder().decode(Message.self, from: Data(body))
        guard let id = request.headers[id], request.headers[source] != nil else { return .badRequest }
        try await storage?.store(id: id, business: message.destinationId, message: body)
        return .ok
    }
}

var logger = Logger(label: "peer")
logger.logLevel = .error
let application = Application(
    router: router,
    configuration: .init(address: .hostname("127.0.0.1", port: 0), backlog: 4096),
    onServerRunning: { channel in
        print("listening on 127.0.0.1:\(channel.localAddress?.port ?? 0)")
        fflush(nil)
    },
    eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup(numberOfThreads: threads)),
    logger: logger)
try await application.runService()
