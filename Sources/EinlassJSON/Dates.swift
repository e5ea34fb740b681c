/// Returns the UTC day of a time in Unix seconds: `2026-11-21`.
package func day(_ seconds: Int64) -> String {
  let days = seconds / 86_400 - (seconds % 86_400 < 0 ? 1 : 0)
  // Howard Hinnant's civil_from_days. Its years start in March, so that the leap day is the last
  // day.
  let shifted = days + 719_468
  let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
  let dayOfEra = shifted - era * 146_097
  let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
  let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
  let monthFromMarch = (5 * dayOfYear + 2) / 153
  let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
  let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
  let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  return "\(year)-\(twoDigits(month))-\(twoDigits(day))"
}

/// Returns the beginning of a UTC day like `2026-11-21` in Unix seconds; `nil` if the text is not a
/// day of the calendar.
package func startOfDay(_ text: String) -> Int64? {
  let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) }
  guard parts.count == 3, let year = parts[0], let month = parts[1], let dayOfMonth = parts[2],
    (1970...9999).contains(year), (1...12).contains(month), (1...31).contains(dayOfMonth)
  else { return nil }
  // Howard Hinnant's days_from_civil, the inverse of civil_from_days.
  let shifted = month <= 2 ? year - 1 : year
  let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + dayOfMonth - 1
  let days =
    shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
  let seconds = days * 86_400
  return day(seconds) == text ? seconds : nil
}

/// Returns the UTC minute of a time in Unix seconds: `2026-11-21 09:30`.
package func minute(_ seconds: Int64) -> String {
  let ofDay = (seconds % 86_400 + 86_400) % 86_400
  return "\(day(seconds)) \(twoDigits(ofDay / 3_600)):\(twoDigits(ofDay / 60 % 60))"
}

/// Returns a time in Unix seconds as UTC: `2026-11-21T09:30:05Z`. RFC 3339.
package func timestamp(_ seconds: Int64) -> String {
  let minute = minute(seconds)
  return
    "\(minute.prefix(10))T\(minute.suffix(5)):\(twoDigits((seconds % 60 + 60) % 60))Z"
}

/// Returns a time of RFC 3339 without fractions of a second in Unix seconds: `2026-11-21T09:30:05Z`,
/// `2026-11-21T10:30:05+01:00`; `nil` if the text is not one.
package func seconds(of text: String) -> Int64? {
  let bytes = Array(text.utf8)
  func number(_ start: Int) -> Int64? {
    let digits = bytes[start..<start + 2]
    guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int64(String(decoding: digits, as: UTF8.self))
  }
  let isUTC = bytes.last == UInt8(ascii: "Z")
  guard bytes.count == (isUTC ? 20 : 25), bytes[10] == UInt8(ascii: "T"),
    bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
    let day = startOfDay(String(decoding: bytes[..<10], as: UTF8.self)),
    let hour = number(11), hour < 24, let minute = number(14), minute < 60,
    let second = number(17), second < 60
  else { return nil }
  let local = day + hour * 3_600 + minute * 60 + second
  guard !isUTC else { return local }
  guard bytes[22] == UInt8(ascii: ":"), let hours = number(20), hours < 24,
    let minutes = number(23), minutes < 60
  else { return nil }
  let offset = hours * 3_600 + minutes * 60
  switch bytes[19] {
  case UInt8(ascii: "+"): return local - offset
  case UInt8(ascii: "-"): return local + offset
  default: return nil
  }
}

private func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
