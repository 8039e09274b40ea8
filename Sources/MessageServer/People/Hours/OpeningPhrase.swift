import BalloonPOSIX

/// When people answer, in words of the customer's language: `tomorrow at 9 AM`, `am Montag um 9 Uhr`.
struct OpeningPhrase {
    /// The place in a text for the words.
    static let placeholder = "{opensAt}"

    /// Formulas with `{time}`, and for a date also with `{day}` and `{month}`.
    let today: String
    let tomorrow: String
    let weekday: String
    let date: String
    /// The names of the days as ``weekday`` needs them, Monday first, with commas between.
    let weekdays: String
    let months: String
    let clock: Clock

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
        let formula =
            switch distance {
            case ...0: phrase.today
            case 1: phrase.tomorrow
            case ..<week: phrase.weekday.replacing("{weekday}", with: name)
            default:
                phrase.date.replacing("{day}", with: "\(date.day)")
                    .replacing("{month}", with: word(Int(date.month) - 1, of: phrase.months))
            }
        return formula.replacing("{time}", with: phrase.clock.text(minute / 60, minute % 60))
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
            today: "today at {time}", tomorrow: "tomorrow at {time}", weekday: "on {weekday} at {time}",
            date: "on {day} {month} at {time}",
            weekdays: "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday",
            months: "January,February,March,April,May,June,July,August,September,October,November,December",
            clock: .twelveHours),
        "de": OpeningPhrase(
            today: "heute um {time}", tomorrow: "morgen um {time}", weekday: "am {weekday} um {time}",
            date: "am {day}. {month} um {time}",
            weekdays: "Montag,Dienstag,Mittwoch,Donnerstag,Freitag,Samstag,Sonntag",
            months: "Januar,Februar,März,April,Mai,Juni,Juli,August,September,Oktober,November,Dezember",
            clock: .hours(":", before: " Uhr", after: " Uhr")),
        "fr": OpeningPhrase(
            today: "aujourd’hui à {time}", tomorrow: "demain à {time}", weekday: "{weekday} à {time}",
            date: "le {day} {month} à {time}",
            weekdays: "lundi,mardi,mercredi,jeudi,vendredi,samedi,dimanche",
            months: "janvier,février,mars,avril,mai,juin,juillet,août,septembre,octobre,novembre,décembre",
            clock: .hours(" h ", before: " h", after: "")),
        "es": OpeningPhrase(
            today: "hoy a las {time}", tomorrow: "mañana a las {time}", weekday: "el {weekday} a las {time}",
            date: "el {day} de {month} a las {time}",
            weekdays: "lunes,martes,miércoles,jueves,viernes,sábado,domingo",
            months:
                "enero,febrero,marzo,abril,mayo,junio,julio,agosto,septiembre,octubre,noviembre,diciembre",
            clock: .twentyFourHours(":")),
        "it": OpeningPhrase(
            today: "oggi alle {time}", tomorrow: "domani alle {time}", weekday: "{weekday} alle {time}",
            date: "il {day} {month} alle {time}",
            weekdays: "lunedì,martedì,mercoledì,giovedì,venerdì,sabato,domenica",
            months:
                "gennaio,febbraio,marzo,aprile,maggio,giugno,luglio,agosto,settembre,ottobre,novembre,dicembre",
            clock: .twentyFourHours(":")),
        "pt": OpeningPhrase(
            today: "hoje às {time}", tomorrow: "amanhã às {time}", weekday: "{weekday} às {time}",
            date: "em {day} de {month} às {time}",
            weekdays:
                "na segunda-feira,na terça-feira,na quarta-feira,na quinta-feira,na sexta-feira,no sábado,no domingo",
            months:
                "janeiro,fevereiro,março,abril,maio,junho,julho,agosto,setembro,outubro,novembro,dezembro",
            clock: .twentyFourHours(":")),
        "nl": OpeningPhrase(
            today: "vandaag om {time}", tomorrow: "morgen om {time}", weekday: "op {weekday} om {time}",
            date: "op {day} {month} om {time}",
            weekdays: "maandag,dinsdag,woensdag,donderdag,vrijdag,zaterdag,zondag",
            months: "januari,februari,maart,april,mei,juni,juli,augustus,september,oktober,november,december",
            clock: .hours(".", before: " uur", after: " uur")),
        "sv": OpeningPhrase(
            today: "i dag kl. {time}", tomorrow: "i morgon kl. {time}", weekday: "på {weekday} kl. {time}",
            date: "den {day} {month} kl. {time}",
            weekdays: "måndag,tisdag,onsdag,torsdag,fredag,lördag,söndag",
            months: "januari,februari,mars,april,maj,juni,juli,augusti,september,oktober,november,december",
            clock: .twentyFourHours(".")),
        "da": OpeningPhrase(
            today: "i dag kl. {time}", tomorrow: "i morgen kl. {time}", weekday: "på {weekday} kl. {time}",
            date: "den {day}. {month} kl. {time}",
            weekdays: "mandag,tirsdag,onsdag,torsdag,fredag,lørdag,søndag",
            months: "januar,februar,marts,april,maj,juni,juli,august,september,oktober,november,december",
            clock: .twentyFourHours(".")),
        "ja": OpeningPhrase(
            today: "本日{time}", tomorrow: "明日{time}", weekday: "{weekday}の{time}",
            date: "{month}月{day}日{time}",
            weekdays: "月曜日,火曜日,水曜日,木曜日,金曜日,土曜日,日曜日", months: "1,2,3,4,5,6,7,8,9,10,11,12",
            clock: .twentyFourHours(":")),
        "zh": OpeningPhrase(
            today: "今天{time}", tomorrow: "明天{time}", weekday: "{weekday}{time}", date: "{month}月{day}日{time}",
            weekdays: "周一,周二,周三,周四,周五,周六,周日", months: "1,2,3,4,5,6,7,8,9,10,11,12",
            clock: .twentyFourHours(":")),
    ]
}
