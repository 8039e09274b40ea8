internal import BalloonJSON

extension Checks {
    private static func page(_ options: [Member], then check: @escaping Check) -> [Member] {
        let options = object("Types of Pages", options, then: check)
        return [.optional("hintText", text), .optional("options", nullable(options))]
    }

    static let datePage = page(
        ["dateFormat", "startDate", "maximumDate", "minimumDate", "labelText"].map { .optional($0, text) },
        then: checkDates)

    private static func checkDates(of options: JSONValue, _ inspection: inout Inspection) {
        var pattern = DatePattern.standard
        if let format = options["dateFormat"], let text = format.nonEmptyString {
            guard let read = DatePattern(text) else {
                return inspection.report(
                    .dateFormat, at: format, allowed: "a year, a month and a day, such as MM/dd/yyyy")
            }
            pattern = read
        }
        var earlier: (name: String, date: CalendarDate)?
        for name in ["minimumDate", "startDate", "maximumDate"] {
            guard let member = options[name], let date = date(in: member, pattern, &inspection) else {
                continue
            }
            if let earlier, date < earlier.date {
                inspection.report(.dateOrder, at: member, allowed: "\(earlier.name) or later")
            }
            if name == "minimumDate", let today = inspection.today, today < date,
                options["maximumDate"]?.nonEmptyString == nil
            {
                inspection.report(
                    .dateMaximum, at: member,
                    allowed: "today or earlier, or a maximumDate; its default is today")
            }
            earlier = (name, date)
        }
    }

    private static func date(
        in member: JSONValue, _ pattern: DatePattern, _ inspection: inout Inspection
    ) -> CalendarDate? {
        guard let text = member.nonEmptyString else { return nil }
        if let date = pattern.date(in: text) { return date }
        guard let date = DatePattern.iso.date(in: text) else {
            inspection.report(.dateValue, at: member, allowed: "a date in the form \(pattern.text)")
            return nil
        }
        inspection.report(.dateSpelling, at: member, allowed: "a date in the form \(pattern.text)")
        return date
    }

    // Checks of the input fields of forms.

    static let inputPage = page(
        [
            .optional("regex", all(text, regex)), .optional("placeholder", text),
            .optional("required", boolean),
            .optional("inputType", oneOf(["singleline", "multiline"], .inputType)),
            .optional("labelText", text), .optional("prefixText", text),
            .optional("maximumCharacterCount", integer(from: 1, .characterCount)),
            .optional("keyboardType", oneOf(keyboards + uikitKeyboards, .keyboardType)),
            .optional(
                "textContentType",
                oneOf(FormRequest.Page.TextContentType.allCases.map(\.rawValue), .textContentType)),
        ], then: checkSingleLine)

    private static let checkSingleLine: Check = { options, inspection in
        guard options["inputType"]?.equals("multiline") ?? false else { return }
        for name in ["labelText", "prefixText"] {
            guard let member = options[name], member.nonEmptyString != nil else { continue }
            inspection.report(
                .singleLineOnly, at: member, found: "\(name) on several lines",
                allowed: "\(name) on a single line")
        }
    }

    static let keyboards = FormRequest.Page.Keyboard.allCases.map(\.rawValue)

    /// The keyboard names in UIKit's spelling, as in Apple's sample: `UIKeyboardTypeEmailAddress`.
    static let uikitKeyboards = keyboards.filter { !$0.hasPrefix("UI") }.map {
        "UIKeyboardType"
            + ($0 == "asciiCapable" ? "ASCIICapable" : $0.prefix(1).uppercased() + $0.dropFirst())
    }

    private static let regex = refuse(
        .regex,
        allowed: "a regular expression of at most \(RegularExpression.maximumBytes) bytes, nested at most"
            + " \(RegularExpression.maximumDepth) deep"
    ) { value in
        guard let text = value.nonEmptyString else { return false }
        return RegularExpression(text) == nil
    }
}
