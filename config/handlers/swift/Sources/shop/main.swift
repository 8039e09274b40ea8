import HandlerKit
import MessageServer
import StdioHandler

let shop = HandlerMaker<Shop>("shop")

if CommandLine.arguments.count > 1 {
    // `shop config/server.json`: a server of its own, whose businesses say "handler": {"builtin": "shop"}.
    await Server.run(configurationFile: CommandLine.arguments[1], handlers: [shop])
} else {
    // A program that a server runs: "handler": {"exec": ["./shop"]}.
    await StdioHandler.run(shop)
}
