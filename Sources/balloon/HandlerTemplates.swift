/// The files that `balloon init` writes: copies of the samples in `config/handlers`, which the tests run.
///
/// Every line begins with a bar, so that tools do not mistake another language's imports for Swift imports.
enum HandlerTemplates {
    /// `config/handlers/shop.py`.
    static let python = lines(
        #"""
        |#!/usr/bin/env python3
        |"""A shop as a handler in Python: questions by quick reply, list picker, time picker and form.
        |
        |It speaks balloon-handler/1: one JSON object per line on standard input and output. Standard error is the log.
        |"""
        |import json
        |import sys
        |import uuid
        |
        |APPLE = "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension"
        |
        |
        |def interactive(data, title):
        |    """A message with one of Apple's interactive types, as Apple describes it."""
        |    data = {"version": "1.0", "requestIdentifier": str(uuid.uuid4()), **data}
        |    bubble = {"title": title, "style": "icon"}
        |    return {"type": "interactive",
        |            "interactiveData": {"bid": APPLE, "data": data, "receivedMessage": bubble, "replyMessage": bubble}}
        |
        |
        |def text(event):
        |    items = [{"identifier": "order", "title": "Order bread"}, {"identifier": "person", "title": "Talk to a person"}]
        |    return [interactive({"quick-reply": {"summaryText": "What can we do for you?", "items": items}}, "Welcome")]
        |
        |
        |def quick_reply(event):
        |    items = [{"identifier": name, "title": name.title(), "order": place, "style": "default"}
        |             for place, name in enumerate(["rye", "wheat"])]
        |    section = {"title": "Bread", "order": 0, "multipleSelection": False, "items": items}
        |    return [interactive({"listPicker": {"sections": [section]}}, "Which bread?")]
        |
        |
        |def list_picker(event):
        |    slots = [{"identifier": "morning", "startTime": "2030-07-10T08:00+0000", "duration": 3600},
        |             {"identifier": "evening", "startTime": "2030-07-10T17:00+0000", "duration": 3600}]
        |    return [interactive({"event": {"identifier": "collect", "title": "Collect it", "timeslots": slots}}, "When?")]
        |
        |
        |def time_picker(event):
        |    page = {"pageIdentifier": "name", "type": "input", "title": "Your name", "subtitle": "Who collects it?",
        |            "submitForm": True, "options": {"required": True, "inputType": "singleline"}}
        |    form = {"version": "1.1", "template": "messageForms", "data": {"startPageIdentifier": "name", "pages": [page]}}
        |    return [interactive({"dynamic": form}, "Your name")]
        |
        |
        |def form(event):
        |    return ["Thank you! Your bread will be ready."]
        |
        |
        |HANDLERS = {"text": text, "quickReply": quick_reply, "listPicker": list_picker, "timePicker": time_picker,
        |            "form": form}
        |
        |
        |def answer(call):
        |    """The result of one call of the server."""
        |    if call["method"] == "initialize":
        |        return {"protocolVersion": "1", "handler": {"name": "shop.py"}, "events": list(HANDLERS), "maxInFlight": 1}
        |    if call["method"] == "event":
        |        event = call["params"]["event"]
        |        if event.get("selectedIdentifier") == "person":
        |            return {"outcome": "handoff", "reason": "the customer asked for a person"}
        |        return {"outcome": "handled", "replies": HANDLERS[event["kind"]](event)}
        |    return {}
        |
        |
        |for line in sys.stdin:
        |    call = json.loads(line)
        |    if "id" in call:
        |        print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": answer(call)}), flush=True)
        """#)

    /// `config/handlers/swift/Package.swift`; the path of the server's package is quoted.
    static let swiftPackage = lines(
        #"""
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
        """#)

    /// `config/handlers/swift/Sources/shop/main.swift`.
    static let swiftMain = lines(
        #"""
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
        """#)

    /// `config/handlers/swift/Sources/shop/Shop.swift`.
    static let swiftShop = lines(
        #"""
        |import HandlerKit
        |
        |/// A shop: questions by quick reply, list picker, time picker and form.
        |struct Shop: TextHandler, QuickReplyHandler, ListPickerHandler, TimePickerHandler, FormHandler,
        |    ConfigurableHandler
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
        |}
        """#)

    private static func lines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.dropFirst() + "\n" }.joined()
    }
}
