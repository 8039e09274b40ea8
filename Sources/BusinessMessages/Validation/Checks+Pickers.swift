internal import BalloonJSON

extension Checks {
    // Checks of quick replies.

    static let quickReply = object(
        "Data.Quick-Reply Dictionary",
        [
            .required("summaryText", words),
            .required("items", all(list(of: quickReplyItem), quickReplyCount)),
        ], then: unique(in: "items", .quickReplyIdentifiers))

    private static let quickReplyItem = object(
        "Quick-Reply.Items Dictionary",
        [.required("identifier", words), .required("title", all(notBlank, oneLine))])

    private static let notBlank = all(
        text,
        refuse(.empty, allowed: "a text that is not blank") {
            $0.string?.unicodeScalars.allSatisfy(\.properties.isWhitespace) ?? false
        })

    private static let oneLine = refuse(.quickReplyLines, allowed: "one line") {
        $0.string?.unicodeScalars.contains(where: \.isLineBreak) ?? false
    }

    private static let quickReplyCount: Check = { items, inspection in
        guard items.kind == .array, !QuickReplyRequest.itemCounts.contains(items.count) else { return }
        inspection.report(.quickReplyCount, at: items, found: "\(items.count) items", allowed: "2 to 5 items")
    }

    // Checks of list pickers.

    static let listPicker = object(
        "List Picker Message",
        [
            .required("sections", list(of: section, minimum: 1)),
            // Apple does not document this member here, but devices repeat it in their answers.
            .optional("multipleSelection", boolean),
        ],
        then: { picker, inspection in
            let items = (picker["sections"]?.objects ?? []).flatMap { $0["items"]?.objects ?? [] }
            unique(items, "identifier", .listItemIdentifiers, &inspection)
        })

    private static let section = object(
        "Data.ListPickerSection Dictionary",
        [
            .required("title", text), .optional("order", integer), .optional("multipleSelection", boolean),
            .required("items", list(of: listItem, minimum: 1)),
        ])

    private static let listItem = object(
        "ListPickerSection.ListPickerItem Dictionary",
        [
            .required("identifier", words), .required("title", words), .optional("subtitle", text),
            .optional("order", integer), .optional("style", text),
            .optional("imageIdentifier", imageIdentifier),
        ])

    // Checks of time pickers.

    static let event = object(
        "Data.Event Dictionary",
        [
            .required("identifier", words), .optional("title", text),
            .optional("imageIdentifier", imageIdentifier), .optional("location", location),
            .optional("timezoneOffset", all(integer, timezoneOffset)),
            .required("timeslots", list(of: timeslot, minimum: 1)),
        ], then: unique(in: "timeslots", .slotIdentifiers))

    private static let timezoneOffset = refuse(.timezoneOffset, allowed: "-720 to 840 minutes") {
        $0.int.map { !(-720...840).contains($0) } ?? false
    }

    private static let timeslot = object(
        "Location.TimeItem Dictionary",
        [
            .required("identifier", words), .required("duration", integer(from: 1, .slotDuration)),
            .required("startTime", startTime),
        ])

    private static let startTime = text(.startTime, allowed: "2026-07-10T17:00+0000, always in GMT") {
        guard $0.utf8.count <= 64 else { return false }
        let isGreenwich = ["Z", "+0000", "+00:00"].contains(where: $0.hasSuffix)
        return isGreenwich && $0.contains("T") && secondsSinceEpoch(parsing: $0) != nil
    }

    private static let location = object(
        "EventItem.LocationItem Dictionary",
        [
            .optional("title", text), .optional("radius", number),
            .optional("latitude", all(number, coordinate(within: 90))),
            .optional("longitude", all(number, coordinate(within: 180))),
        ],
        then: { location, inspection in
            guard let radius = location["radius"] else { return }
            if location["latitude"] == nil || location["longitude"] == nil {
                inspection.report(
                    .radius, at: radius, allowed: "a radius only together with latitude and longitude")
            }
        })

    private static func coordinate(within limit: Int) -> Check {
        refuse(.coordinates, allowed: "-\(limit) to \(limit) degrees") {
            $0.double.map { abs($0) > Double(limit) } ?? false
        }
    }
}
