import CCurl
import Einlass
import Glibc
import Testing

@testable import EinlassNetwork

@Suite struct NetworkCodeTests {
  private static let plain: [(CURLcode, Int)] = [
    (CURLE_UNSUPPORTED_PROTOCOL, -1002), (CURLE_URL_MALFORMAT, -1000),
    (CURLE_COULDNT_RESOLVE_HOST, -1003), (CURLE_COULDNT_RESOLVE_PROXY, -1003),
    (CURLE_COULDNT_CONNECT, -1004), (CURLE_OPERATION_TIMEDOUT, -1001), (CURLE_SEND_ERROR, -1005),
    (CURLE_RECV_ERROR, -1005), (CURLE_PARTIAL_FILE, -1005), (CURLE_SEND_FAIL_REWIND, -1005),
    (CURLE_TOO_MANY_REDIRECTS, -1007), (CURLE_GOT_NOTHING, -1011),
    (CURLE_WEIRD_SERVER_REPLY, -1011), (CURLE_HTTP2, -1011), (CURLE_HTTP2_STREAM, -1011),
    (CURLE_HTTP3, -1011), (CURLE_BAD_CONTENT_ENCODING, -1016), (CURLE_FILESIZE_EXCEEDED, -1103),
    (CURLE_SSL_CONNECT_ERROR, -1200), (CURLE_SSL_CACERT_BADFILE, -1200),
    (CURLE_PEER_FAILED_VERIFICATION, -1202), (CURLE_FAILED_INIT, -1), (CURLE_OUT_OF_MEMORY, -1),
  ]

  @Test("Error codes of libcurl become the error codes of Apple's platforms", arguments: plain)
  func codes(code: CURLcode, number: Int) {
    #expect(CurlReport(code).networkCode.rawValue == number)
  }

  @Test(
    "The system error of a failed connection decides the code",
    arguments: [
      (ENETUNREACH, -1009), (ENETDOWN, -1009), (ETIMEDOUT, -1001), (ECONNREFUSED, -1004),
      (0, -1004),
    ])
  func connecting(systemError: Int32, number: Int) {
    var report = CurlReport(CURLE_COULDNT_CONNECT)
    report.systemError = systemError
    #expect(report.networkCode.rawValue == number)
  }

  @Test(
    "The result of certificate verification decides the code",
    arguments: [
      (9, -1204), (10, -1201), (18, -1203), (19, -1203), (20, -1203), (21, -1203), (0, -1202),
      (7, -1202), (23, -1202), (62, -1202),
    ])
  func certificates(verifyResult: Int, number: Int) {
    var report = CurlReport(CURLE_PEER_FAILED_VERIFICATION)
    report.verifyResult = verifyResult
    #expect(report.networkCode.rawValue == number)
  }

  @Test(
    "Only a fault that may pass is said to be worth another attempt",
    arguments: 0...99, [true, false])
  func later(code: UInt32, isSent: Bool) {
    var report = CurlReport(CURLcode(code))
    report.isSent = isSent
    for fault in [
      TransferFault.curl(report), .tooLarge, .unaskedCoding, .unreadableCoding("br"), .budgetSpent,
      .badAddress, .insecureAddress, .notPublic, .unsoundHeader, .noThread,
    ] {
      let problem = fault.problem(host: "a.test", caFile: nil)
      #expect(!problem.message.contains("try again") || problem.isRetryable, "\(problem.message)")
    }
  }

  /// Texts of libcurl 7.88 and 8.5 with OpenSSL 3, and of OpenSSL 1.1.
  @Test(
    "The number of a TLS alert is read from the text of libcurl",
    arguments: [
      (
        "OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0",
        116
      ),
      ("error:0A000418:SSL routines::tlsv1 alert unknown ca", 48),
      (
        "OpenSSL SSL_read: OpenSSL/3.0.19: error:0A000412:SSL routines::ssl/tls alert bad, errno 0",
        42
      ),
      ("error:14094410:SSL routines:ssl3_read_bytes:sslv3 alert handshake failure", 40),
      ("error:1409445C:SSL routines:ssl3_read_bytes:tlsv13 alert certificate required", 116),
      // The next ones are no alerts: reasons of OpenSSL itself, another library, other text.
      ("error:0A000126:SSL routines::unexpected eof while reading", nil),
      ("error:0A000086:SSL routines::certificate verify failed", nil),
      ("error:0900045C:PEM routines::something", nil), ("error:0A00045", nil), ("error:", nil),
      ("SSL certificate verification failed", 45),
      ("SSL certificate problem: certificate has expired", nil), ("error:+A00045C:SSL", nil),
      ("Recv failure: Connection reset by peer", nil), ("", nil),
    ] as [(String, Int?)])
  func alerts(text: String, number: Int?) {
    #expect(TLSAlert(inErrorText: text)?.number == number)
  }

  @Test(
    "An alert about the certificate of the client decides the code",
    arguments: [
      (CURLE_RECV_ERROR, 116, true, -1205), (CURLE_RECV_ERROR, 116, false, -1206),
      (CURLE_SSL_CLIENTCERT, 116, false, -1206), (CURLE_SEND_ERROR, 116, false, -1206),
      (CURLE_SSL_CONNECT_ERROR, 42, false, -1206), (CURLE_SSL_CONNECT_ERROR, 42, true, -1205),
      (CURLE_RECV_ERROR, 48, true, -1205), (CURLE_SSL_CONNECT_ERROR, 45, true, -1205),
      (CURLE_SSL_CONNECT_ERROR, 40, true, -1205), (CURLE_PEER_FAILED_VERIFICATION, 45, true, -1205),
      // The next ones say nothing about a certificate of the client.
      (CURLE_SSL_CONNECT_ERROR, 40, false, -1200), (CURLE_SSL_CONNECT_ERROR, 48, false, -1200),
      (CURLE_SSL_CONNECT_ERROR, 70, true, -1200), (CURLE_RECV_ERROR, 80, true, -1005),
      (CURLE_OPERATION_TIMEDOUT, 116, true, -1001),
    ])
  func clientCertificates(code: CURLcode, alert: Int, hasIdentity: Bool, number: Int) {
    var report = CurlReport(code)
    report.isSent = true
    (report.alert, report.hasIdentity) = (TLSAlert(number: alert), hasIdentity)
    #expect(report.networkCode.rawValue == number)
    let problem = TransferFault.curl(report).problem(host: "a.test", caFile: nil)
    #expect(problem.networkCode == number)
    // The server has not read a request without the certificate.
    #expect(problem.mayHaveArrived == ![-1205, -1206].contains(number))
    #expect(problem.isRetryable == [-1005, -1001].contains(number))
  }

  @Test(
    "A missing or unfit libcurl is reported with the way out",
    arguments: [
      (CCURL_MISSING, "missing"), (CCURL_TOO_OLD, "7.74"), (CCURL_BROKEN, "started"),
    ])
  func library(state: ccurl_state, word: String) {
    let problem = TransferFault.noLibrary(state).problem(host: "a.test", caFile: nil)
    #expect(problem.reason == .networkFailure && problem.networkCode == -1)
    #expect(problem.message.contains("libcurl.so.4") && problem.message.contains(word))
    #expect(!problem.isRetryable && problem.advice == .installLibcurl)
  }
}
