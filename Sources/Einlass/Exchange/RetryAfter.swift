/// The wait that a provider demands before the next request. RFC 9110 section 10.2.3.
enum RetryAfter {
  /// The longest reported wait.
  static let limitSeconds = 300

  /// Returns the wait in seconds, 0…300, from `Retry-After` (a number or a date), else from the
  /// provider's own header; `nil` if the response names none.
  static func seconds(_ response: HTTPResponse, limitResetHeader: String?, now: UnixTime) -> Int? {
    let received = response.header("retry-after").flatMap { value in
      Int64(value) ?? httpDate(value).map { seconds(until: $0, now) }
    }
    let reset = limitResetHeader.flatMap(response.header).flatMap { Int64($0) }
    return (received ?? reset.map { seconds(until: $0, now) })
      .map { Int(min(max($0, 0), Int64(limitSeconds))) }
  }

  /// Returns 0 for a past time. The maximum comes first, so the subtraction cannot overflow for any
  /// number sent.
  private static func seconds(until time: UnixTime, _ now: UnixTime) -> Int64 {
    max(time, now) - now
  }

  /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`, the only form servers may send. RFC 9110 section
  /// 5.6.7.
  static func httpDate(_ text: String) -> UnixTime? {
    let parts = text.split(separator: " ")
    guard parts.count == 6, parts[5] == "GMT", let day = Int64(parts[1]), (1...31).contains(day),
      let month = months.firstIndex(of: String(parts[2])), let year = Int64(parts[3]),
      (1970...9999).contains(year)
    else { return nil }
    let clock = parts[4].split(separator: ":").map { Int64($0) ?? -1 }
    guard clock.count == 3, (0...23).contains(clock[0]), (0...59).contains(clock[1]),
      (0...60).contains(clock[2])
    else { return nil }
    let days = daysSince1970(year: year, month: Int64(month) + 1, day: day)
    return days * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2]
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Returns the days since 1970 in the Gregorian calendar. Years begin in March here, so the leap
  /// day comes last.
  private static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
    let year = month > 2 ? year : year - 1
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
  }
}
