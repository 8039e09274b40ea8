import BalloonPOSIX

/// When people answer, in words of the customer's language: `tomorrow at 9 AM`, `am Montag um 9 Uhr`.
struct OpeningPhrase {
    /// The place in a text for the words.
    static let placeholder = "{opensAt}"

    /// The day: a formula with `{weekday}` for ``weekday``, and with `{day}` and `{month}` for ``date``.
    let today: String
    let tomorrow: String
    let weekday: String
    let date: String
    /// The words between the day and the time.
    let at: String
    let clock: Clock
    /// The names of the days as ``weekday`` needs them, Monday first, with commas between.
    let weekdays: String
    let months: String

    /// How a language writes a time of the day.
    enum Clock {
        /// `9 AM`, `1:30 PM`.
        case twelveHours
        /// `9:00`, with the sign between hours and minutes.
        case twentyFourHours(String)
        /// `9 Uhr`, `9:30 Uhr`; `9 h`, `9 h 30`: the minutes only when they are not 0.
        case hours(String, before: String, after: String)
    }

    private static let week: Int64 = 7

    /// Returns when people answer, seen from `now`, in the language of a locale such as `de_CH`.
    ///
    /// A language without formulas gets the date and the time in digits, and nil as `zone` means UTC, which is then named.
    static func words(for time: Timestamp, at now: Timestamp, in zone: TimeZoneFile?, locale: String?)
        -> String
    {
        let language = locale?.lowercased().prefix { $0.isLetter } ?? "en"
        let (day, second) = shown(time, in: zone)
        let distance = day - shown(now, in: zone).day
        let (date, minute) = (civilDate(daysSinceEpoch: day), second / 60)
        guard zone != nil, let phrase = all[String(language)] else {
            let digits = [date.year, date.month, date.day].map { padded($0) }.joined(separator: "-")
            return "\(digits) \(padded(minute / 60)):\(padded(minute % 60))" + (zone == nil ? " UTC" : "")
        }
        // 1 January 1970 was a Thursday.
        let name = word(Int((day + 3) % week), of: phrase.weekdays)
        let words =
            switch distance {
            case ...0: phrase.today
            case 1: phrase.tomorrow
            case ..<week: phrase.weekday.replacing("{weekday}", with: name)
            default:
                phrase.date.replacing("{day}", with: "\(date.day)")
                    .replacing("{month}", with: word(Int(date.month) - 1, of: phrase.months))
            }
        return words + phrase.at + phrase.clock.text(minute / 60, minute % 60)
    }

    private static func shown(_ time: Timestamp, in zone: TimeZoneFile?) -> (day: Int64, second: Int64) {
        let seconds = time.milliseconds.flooredQuotient(by: 1000)
        let local = seconds + (zone?.offset(at: seconds) ?? 0)
        let day = local.flooredQuotient(by: 86_400)
        return (day, local - day * 86_400)
    }
}

private func padded(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

extension OpeningPhrase.Clock {
    fileprivate func text(_ hour: Int64, _ minute: Int64) -> String {
        switch self {
        case .twelveHours:
            let shown = hour % 12 == 0 ? 12 : hour % 12
            return "\(shown)" + (minute == 0 ? "" : ":\(padded(minute))") + (hour < 12 ? " AM" : " PM")
        case .twentyFourHours(let sign): return "\(hour)\(sign)\(padded(minute))"
        case .hours(let sign, let before, let after):
            return "\(hour)" + (minute == 0 ? before : sign + padded(minute) + after)
        }
    }
}

extension OpeningPhrase {
    private static func word(_ index: Int, of names: String) -> String {
        String(names.split(separator: ",")[index])
    }

    /// The formulas by language.
    private static let all: [String: OpeningPhrase] = [
        "en": OpeningPhrase(
            today: "today", tomorrow: "tomorrow", weekday: "on {weekday}", date: "on {day} {month}",
            at: " at ", clock: .twelveHours,
            weekdays: "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday",
            months: "January,February,March,April,May,June,July,August,September,October,November,December"),
        "de": OpeningPhrase(
            today: "heute", tomorrow: "morgen", weekday: "am {weekday}", date: "am {day}. {month}",
            at: " um ", clock: .hours(":", before: " Uhr", after: " Uhr"),
            weekdays: "Montag,Dienstag,Mittwoch,Donnerstag,Freitag,Samstag,Sonntag",
            months: "Januar,Februar,März,April,Mai,Juni,Juli,August,September,Oktober,November,Dezember"),
        "fr": OpeningPhrase(
            today: "aujourd’hui", tomorrow: "demain", weekday: "{weekday}", date: "le {day} {month}",
            at: " à ", clock: .hours(" h ", before: " h", after: ""),
            weekdays: "lundi,mardi,mercredi,jeudi,vendredi,samedi,dimanche",
            months: "janvier,février,mars,avril,mai,juin,juillet,août,septembre,octobre,novembre,décembre"),
        "es": OpeningPhrase(
            today: "hoy", tomorrow: "mañana", weekday: "el {weekday}", date: "el {day} de {month}",
            at: " a las ", clock: .twentyFourHours(":"),
            weekdays: "lunes,martes,miércoles,jueves,viernes,sábado,domingo",
            months:
                "enero,febrero,marzo,abril,mayo,junio,julio,agosto,septiembre,octubre,noviembre,diciembre"),
        "it": OpeningPhrase(
            today: "oggi", tomorrow: "domani", weekday: "{weekday}", date: "il {day} {month}",
            at: " alle ", clock: .twentyFourHours(":"),
            weekdays: "lunedì,martedì,mercoledì,giovedì,venerdì,sabato,domenica",
            months:
                "gennaio,febbraio,marzo,aprile,maggio,giugno,luglio,agosto,settembre,ottobre,novembre,dicembre"
        ),
        "pt": OpeningPhrase(
            today: "hoje", tomorrow: "amanhã", weekday: "{weekday}", date: "em {day} de {month}",
            at: " às ", clock: .twentyFourHours(":"),
            weekdays:
                "na segunda-feira,na terça-feira,na quarta-feira,na quinta-feira,na sexta-feira,no sábado,no domingo",
            months:
                "janeiro,fevereiro,março,abril,maio,junho,julho,agosto,setembro,outubro,novembro,dezembro"),
        "nl": OpeningPhrase(
            today: "vandaag", tomorrow: "morgen", weekday: "op {weekday}", date: "op {day} {month}",
            at: " om ", clock: .hours(".", before: " uur", after: " uur"),
            weekdays: "maandag,dinsdag,woensdag,donderdag,vrijdag,zaterdag,zondag",
            months:
                "januari,februari,maart,april,mei,juni,juli,augustus,september,oktober,november,december"),
        "sv": OpeningPhrase(
            today: "i dag", tomorrow: "i morgon", weekday: "på {weekday}", date: "den {day} {month}",
            at: " kl. ", clock: .twentyFourHours("."),
            weekdays: "måndag,tisdag,onsdag,torsdag,fredag,lördag,söndag",
            months: "januari,februari,mars,april,maj,juni,juli,augusti,september,oktober,november,december"),
        "da": OpeningPhrase(
            today: "i dag", tomorrow: "i morgen", weekday: "på {weekday}", date: "den {day}. {month}",
            at: " kl. ", clock: .twentyFourHours("."),
            weekdays: "mandag,tirsdag,onsdag,torsdag,fredag,lørdag,søndag",
            months: "januar,februar,marts,april,maj,juni,juli,august,september,oktober,november,december"),
        "ja": OpeningPhrase(
            today: "本日", tomorrow: "明日", weekday: "{weekday}の", date: "{month}月{day}日",
            at: "", clock: .twentyFourHours(":"),
            weekdays: "月曜日,火曜日,水曜日,木曜日,金曜日,土曜日,日曜日",
            months: "1,2,3,4,5,6,7,8,9,10,11,12"),
        "zh": OpeningPhrase(
            today: "今天", tomorrow: "明天", weekday: "{weekday}", date: "{month}月{day}日",
            at: "", clock: .twentyFourHours(":"),
            weekdays: "周一,周二,周三,周四,周五,周六,周日",
            months: "1,2,3,4,5,6,7,8,9,10,11,12"),
    ]
}
