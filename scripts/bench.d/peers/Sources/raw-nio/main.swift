import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix

// raw-nio THREADS: answers `ok` to everything, with nothing but SwiftNIO's own HTTP/1.1 pipeline.

final class Answer: ChannelInboundHandler, Sendable {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let body = ByteBuffer(string: "ok\n")

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .end = unwrapInboundIn(data) else { return }
        let headers: HTTPHeaders = ["Content-Type": "text/plain", "Content-Length": "3"]
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

let threads = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1
let group = MultiThreadedEventLoopGroup(numberOfThreads: threads)
let channel = try ServerBootstrap(group: group)
    .serverChannelOption(.backlog, value: 4096)
    .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
    .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.configureHTTPServerPipeline()
            try channel.pipeline.syncOperations.addHandler(Answer())
        }
    }
    .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
    .bind(host: "127.0.0.1", port: 0).wait()
print("listening on 127.0.0.1:\(channel.localAddress?.port ?? 0)")
fflush(nil)
try channel.closeFuture.wait()
