import BusinessMessages
import MessageServer

/// The JSON schemas of the simulated phone's requests and answers, for the OpenAPI document of the inspector, the page of `balloon dev`.
enum PhoneSchema {
    private typealias Schema = JSONSchema

    static let overview = Schema.object([
        "version": Schema.text,
        "businesses": Schema.list(
            Schema.object([
                "slug": Schema.text, "id": Schema.text, "name": Schema.text, "handler": Schema.text,
            ])), "devices": Schema.list(Schema.text), "misbehaviour": Schema.list(Schema.text),
        "endpoints": Schema.list(Schema.text),
    ])
    static let file = Schema.object(["file": Schema.text])
    static let expression = Schema.object(["expression": Schema.text, "text": Schema.text])
    static let match = Schema.object(["isValid": Schema.flag, "matches": Schema.flag])
    static let rules = Schema.object(["rules": Schema.list(Schema.text, 0...100)])
    private static let device = Schema.choice(DeviceOptions.Device.allCases.map(\.rawValue))
    static let profile = Schema.object(
        [:],
        optional: [
            "name": Schema.text, "device": device, "locale": Schema.text, "zone": Schema.text,
            "intent": #"{"type":["string","null"]}"#, "group": #"{"type":["string","null"]}"#,
        ])
    static let newCustomer = Schema.object(
        [:],
        optional: [
            "id": Schema.text, "business": Schema.text, "name": Schema.text, "device": device,
            "locale": Schema.text, "zone": Schema.text, "intent": Schema.text, "group": Schema.text,
        ])
    static let customer = Schema.object(
        [
            "id": Schema.text, "business": Schema.text, "businessID": Schema.text, "name": Schema.text,
            "device": device, "locale": Schema.text, "zone": Schema.text,
            "capabilities": Schema.list(Schema.text), "last": Schema.count,
        ], optional: ["intent": Schema.text, "group": Schema.text])
    static let customers = Schema.object(["customers": Schema.list(customer)])

    private static let attachment = Schema.object(
        ["name": Schema.text],
        optional: ["mimeType": Schema.text, "data": Schema.text, "file": Schema.text])
    private static let tapback = Schema.object(["type": Schema.text, "to": Schema.text])
    private static let content = Schema.object(
        [:],
        optional: [
            "text": Schema.text, "attachments": Schema.list(attachment, 0...20),
            "kind": Schema.choice(Kind.allCases.map(\.rawValue)), "tapback": tapback,
            "message": Schema.anyObject,
        ])
    static let newMessage = Schema.object(
        [:],
        optional: [
            "text": Schema.text, "attachments": Schema.list(attachment, 0...20),
            "kind": Schema.choice(Kind.allCases.map(\.rawValue)), "tapback": tapback,
            "message": Schema.anyObject, "messages": Schema.list(content, 1...20), "levers": Schema.levers,
        ])
    static let answer = Schema.object(
        [
            "to": Schema.text,
            "choice": Schema.object(
                [:],
                optional: [
                    "items": Schema.list(#"{"type":["string","integer"]}"#, 0...100),
                    "fills": Schema.list(
                        Schema.object(["page": Schema.text, "value": Schema.text]), 0...100),
                    "outcome": Schema.choice(["success", "failure", "cancel"]),
                ]),
        ], optional: ["levers": Schema.levers])

    static let payment = Schema.object(
        ["to": Schema.text],
        optional: [
            "select": Schema.object(
                [:],
                optional: ["card": Schema.flag, "country": Schema.text, "shippingMethod": Schema.text]),
            "pay": Schema.choice(["success", "failure"]), "levers": Schema.levers,
        ])
    private static let amount = Schema.object(["label": Schema.text, "amount": Schema.text])
    static let paid = Schema.object(
        [:],
        optional: [
            "posts": Schema.list(Schema.anyObject),
            "sheet": Schema.object(
                [
                    "total": amount, "lineItems": Schema.list(amount),
                    "shippingMethods": Schema.list(
                        Schema.object([
                            "identifier": Schema.text, "label": Schema.text, "detail": Schema.text,
                            "amount": Schema.text,
                        ])), "country": Schema.text, "errors": Schema.list(Schema.text),
                ], optional: ["shippingMethod": Schema.text]),
        ])

    private static let entry = Schema.object(
        [
            "id": Schema.text, "at": Schema.time, "direction": Schema.choice(["inbound", "outbound"]),
            "kind": Schema.text, "record": Schema.count, "line": Schema.anyObject,
        ],
        optional: [
            "seq": Schema.count, "status": Schema.text, "reason": Schema.text, "answered": Schema.flag,
            "attempts": Schema.count,
        ])
    static let thread = Schema.object([
        "thread": Schema.list(entry), "pending": Schema.list(entry), "typing": Schema.flag,
        "next": Schema.count,
    ])

    static let scenarios = Schema.object(
        [
            "scenarios": Schema.list(
                Schema.object(
                    ["name": Schema.text], optional: ["steps": Schema.count, "problem": Schema.text]))
        ], optional: ["folder": Schema.text])
    static let savedScenario = Schema.object(["name": Schema.text, "steps": Schema.count])
    private static let pace = Schema.choice(["atOnce", "slow"])
    static let play = Schema.object([:], optional: ["pace": pace, "customer": Schema.text])
    static let playWhole = Schema.object(
        ["scenario": Schema.anyObject], optional: ["pace": pace, "customer": Schema.text])
    static let played = Schema.object([
        "customer": Schema.text, "passed": Schema.flag,
        "steps": Schema.list(
            Schema.object(
                [
                    "name": Schema.text, "verdict": Schema.choice(["passed", "failed", "skipped"]),
                    "seconds": Schema.number,
                ], optional: ["failure": Schema.list(Schema.text)])),
    ])
}
