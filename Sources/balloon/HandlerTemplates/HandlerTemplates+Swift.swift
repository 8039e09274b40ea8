// Written by scripts/generated from config/handlers; edit the files there.

extension HandlerTemplates {
    /// `config/handlers/swift/Package.swift`.
    static let swiftPackage = lines(
        ##"""
        |// swift-tools-version: 6.2
        |import PackageDescription
        |
        |let package = Package(
        |    name: "shop",
        |    platforms: [.macOS(.v15)],
        |    dependencies: [.package(name: "balloon", path: "../../..")],
        |    targets: [
        |        .executableTarget(
        |            name: "shop",
        |            dependencies: [
        |                .product(name: "HandlerKit", package: "balloon"),
        |                .product(name: "MessageServer", package: "balloon"),
        |                .product(name: "StdioHandler", package: "balloon"),
        |            ])
        |    ]
        |)
        """##)

    /// `config/handlers/swift/Sources/shop/main.swift`.
    static let swiftMain = lines(
        ##"""
        |import HandlerKit
        |import MessageServer
        |import StdioHandler
        |
        |let shop = HandlerMaker<Shop>("shop")
        |
        |if CommandLine.arguments.count > 1 {
        |    // `shop config/server.json`: a server of its own, whose businesses say "handler": {"builtin": "shop"}.
        |    await Server.run(configurationFile: CommandLine.arguments[1], handlers: [shop])
        |} else {
        |    // A program that a server runs: "handler": {"exec": ["./shop"]}.
        |    await StdioHandler.run(shop)
        |}
        """##)

    /// `config/handlers/swift/Sources/shop/Shop.swift`.
    static let swiftShop = lines(
        ##"""
        |import HandlerKit
        |
        |/// A shop: questions by quick reply, list picker, time picker and form, and a sign-in.
        |struct Shop: TextHandler, QuickReplyHandler, ListPickerHandler, TimePickerHandler, FormHandler,
        |    AuthenticationHandler, ConfigurableHandler
        |{
        |    /// The member `"config"` of a business's file.
        |    struct Configuration: Decodable {
        |        /// The first question to customers.
        |        var question: String?
        |    }
        |
        |    let configuration: Configuration
        |
        |    func text(_ text: Text, _ context: Context) async throws -> Outcome {
        |        if text.body.lowercased() == "sign in" {
        |            let request = SignInRequest(OutboundBubble("Sign in"), reply: OutboundBubble("Signed in"))
        |            return .reply(.signIn(request).orText("Please call us: this device cannot sign in."))
        |        }
        |        let choices = try QuickReplyRequest(
        |            summary: configuration.question ?? "What can we do for you?",
        |            items: [.init("order", title: "Order bread"), .init("person", title: "Talk to a person")])
        |        return context.reply(.quickReply(choices))
        |    }
        |
        |    func quickReply(_ quickReply: QuickReply, _ context: Context) async throws -> Outcome {
        |        if quickReply.selectedIdentifier == "person" { return .handoff(reason: "asked for a person") }
        |        let bread = ListPickerRequest.Section(
        |            "Bread", items: [.init("rye", title: "Rye"), .init("wheat", title: "Wheat")])
        |        return .reply(.listPicker(ListPickerRequest([bread], presentation: Presentation("Which bread?"))))
        |    }
        |
        |    func listPicker(_ listPicker: ListPicker, _ context: Context) async throws -> Outcome {
        |        context.state["bread"] = listPicker.selectedItems.first?.title
        |        let slots = [("morning", "2030-07-10T08:00+0000"), ("evening", "2030-07-10T17:00+0000")].map {
        |            TimePickerRequest.Timeslot($0, startTime: $1, duration: .seconds(3600))
        |        }
        |        let request = TimePickerRequest(
        |            "collect", title: "Collect it", timeslots: slots, presentation: Presentation("When?"))
        |        return .reply(.timePicker(request))
        |    }
        |
        |    func timePicker(_ timePicker: TimePicker, _ context: Context) async throws -> Outcome {
        |        let page = FormRequest.Page.input(
        |            "name", title: "Your name", subtitle: "Who collects it?", options: .init(isRequired: true),
        |            submitsForm: true)
        |        return .reply(.form(FormRequest([page], presentation: Presentation("Your name"))))
        |    }
        |
        |    func form(_ form: Form, _ context: Context) async throws -> Outcome {
        |        let bread = context.state["bread"] ?? "bread"
        |        context.state.clear()
        |        return .reply("Thank you! Your \(bread) will be ready.")
        |    }
        |
        |    func authentication(_ authentication: Authentication, _ context: Context) async throws -> Outcome {
        |        switch context.signIn {
        |        case .signedIn(let identity):
        |            .reply("Welcome, \(identity.claims["name"]?.string ?? "dear customer")!")
        |        case .declined: .reply("You did not sign in. You can order without it.")
        |        case .expired: .reply("The sign-in took too long. Write \"sign in\" to begin again.")
        |        default: .reply("The sign-in did not work. Write \"sign in\" to begin again.")
        |        }
        |    }
        |}
        """##)
}
