import Testing

@testable import Einlass

/// RFC 9110 sections 5.6.7 and 10.2.3.
struct RetryAfterTests {
  @Test(
    "A date is read to the second",
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
      ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
      ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
      ("Wed, 01 Mar 2023 00:00:00 GMT", 1_677_628_800),
      ("Tue, 31 Dec 2030 12:00:00 GMT", 1_924_948_800),
    ])
  func date(text: String, time: Int64) { #expect(RetryAfter.httpDate(text) == time) }

  @Test(
    "A text that is no HTTP date is ignored",
    arguments: [
      "", "soon", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
      "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 32 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nob 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
      "Sun, 06 Nov 99999 08:49:37 GMT",
      "Sun, 06 Nov 1994 08:-9:37 GMT",
    ])
  func noDate(text: String) { #expect(RetryAfter.httpDate(text) == nil) }

  @Test(
    "The waiting time is between zero and five minutes for any header value",
    arguments: [
      ("retry-after", "7", 7), ("retry-after", "\(Int64.min)", 0),
      ("retry-after", "\(Int64.max)", 300),
      ("retry-after", "99999999999999999999", nil), ("x-reset", "1007", 7),
      ("x-reset", "\(Int64.min)", 0), ("x-reset", "\(Int64.max)", 300), ("x-reset", "soon", nil),
    ] as [(String, String, Int?)])
  func wait(header: String, value: String, seconds: Int?) {
    let response = HTTPResponse(status: 429, headers: [.init(header, value)], body: [])
    #expect(
      RetryAfter.seconds(response, limitResetHeader: "x-reset", now: 1000) == seconds)
  }
}
