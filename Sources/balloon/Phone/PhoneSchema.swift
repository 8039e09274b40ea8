import BusinessMessages
import MessageServer

/// The JSON schemas of the simulated phone's requests and answers, for the OpenAPI document of the inspector, the page of `balloon dev`.
enum PhoneSchema {
    static let overview = JSONSchema.object([
        "version": .text, "devices": .list(.text), "misbehaviour": .list(.text), "endpoints": .list(.text),
        "businesses": .list(.object(["slug": .text, "id": .text, "name": .text, "handler": .text])),
    ])
    static let file = JSONSchema.object(["file": .text])
    static let expression = JSONSchema.object(["expression": .text, "text": .text])
    static let match = JSONSchema.object(["isValid": .flag, "matches": .flag])
    static let rules = JSONSchema.object(["rules": .list(.text, 0...100)])
    private static let device = JSONSchema.choice(DeviceOptions.Device.allCases.map(\.rawValue))
    static let profile = JSONSchema.options([
        "name": .text, "device": device, "locale": .text, "zone": .text,
        "intent": #"{"type":["string","null"]}"#, "group": #"{"type":["string","null"]}"#,
    ])
    static let newCustomer = JSONSchema.options([
        "id": .text, "business": .text, "name": .text, "device": device, "locale": .text, "zone": .text,
        "intent": .text, "group": .text,
    ])
    static let customer = JSONSchema.object(
        [
            "id": .text, "business": .text, "businessID": .text, "name": .text, "device": device,
            "locale": .text, "zone": .text, "capabilities": .list(.text), "last": .count,
        ], optional: ["intent": .text, "group": .text])
    static let customers = JSONSchema.object(["customers": .list(customer)])

    private static let attachment = JSONSchema.object(
        ["name": .text], optional: ["mimeType": .text, "data": .text, "file": .text])
    private static let content: KeyValuePairs<String, JSONSchema> = [
        "text": .text, "attachments": .list(attachment, 0...20), "message": .anyObject,
        "kind": .choice(Kind.allCases.map(\.rawValue)), "tapback": .object(["type": .text, "to": .text]),
    ]
    static let newMessage = JSONSchema.options(
        content, ["messages": .list(.options(content), 1...20), "levers": .levers])
    static let answer = JSONSchema.object(
        [
            "to": .text,
            "choice": .options([
                "items": .list(#"{"type":["string","integer"]}"#, 0...100),
                "fills": .list(.object(["page": .text, "value": .text]), 0...100),
                "outcome": .choice(["success", "failure", "cancel"]),
            ]),
        ], optional: ["levers": .levers])

    static let payment = JSONSchema.object(
        ["to": .text],
        optional: [
            "select": .options(["card": .flag, "country": .text, "shippingMethod": .text]),
            "pay": .choice(["success", "failure"]), "levers": .levers,
        ])
    private static let amount = JSONSchema.object(["label": .text, "amount": .text])
    private static let shippingMethod = JSONSchema.object([
        "identifier": .text, "label": .text, "detail": .text, "amount": .text,
    ])
    static let paid = JSONSchema.options([
        "posts": .list(.anyObject),
        "sheet": .object(
            [
                "total": amount, "lineItems": .list(amount), "shippingMethods": .list(shippingMethod),
                "country": .text, "errors": .list(.text),
            ], optional: ["shippingMethod": .text]),
    ])

    private static let entry = JSONSchema.object(
        [
            "id": .text, "at": .time, "direction": .choice(["inbound", "outbound"]), "kind": .text,
            "record": .count, "line": .anyObject,
        ],
        optional: [
            "seq": .count, "status": .text, "reason": .text, "answered": .flag, "answers": .text,
            "attempts": .count,
        ])
    static let thread = JSONSchema.object([
        "thread": .list(entry), "pending": .list(entry), "typing": .flag, "next": .count,
    ])

    private static let scenario = JSONSchema.object(
        ["name": .text], optional: ["steps": .count, "problem": .text])
    static let scenarios = JSONSchema.object(["scenarios": .list(scenario)], optional: ["folder": .text])
    static let savedScenario = JSONSchema.object(["name": .text, "steps": .count])
    private static let pace: KeyValuePairs<String, JSONSchema> = [
        "pace": .choice(["atOnce", "slow"]), "customer": .text,
    ]
    static let play = JSONSchema.options(pace)
    static let playWhole = JSONSchema.object(["scenario": .anyObject], optional: pace)
    private static let step = JSONSchema.object(
        ["name": .text, "verdict": .choice(["passed", "failed", "skipped"]), "seconds": .number],
        optional: ["failure": .list(.text)])
    static let played = JSONSchema.object(["customer": .text, "passed": .flag, "steps": .list(step)])
}
