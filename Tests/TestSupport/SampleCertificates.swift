/// Certificates of clients, and their keys.
public enum SampleCertificates {
  /// Of `key`, from 2010 to the end of 2099.
  public static let valid = """
    -----BEGIN CERTIFICATE-----
    MIIBEDCBt6ADAgECAgEHMAoGCCqGSM49BAMCMBExDzANBgNVBAMMBmNsaWVudDAg
    Fw0xMDAxMDEwMDAwMDBaGA8yMDk5MTIzMTIzNTk1OVowETEPMA0GA1UEAwwGY2xp
    ZW50MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEjLCzZ08dsvq4V+MZZVBEJMsh
    sTk5hvzrF5wOgeX1w5c7fl9u4TEMVqaJ6uAdjkAyQ+BrBcn/eVkHdhAa14yrXDAK
    BggqhkjOPQQDAgNIADBFAiEAp4A4B4ajmQ11o5e/TeIZluTp9bMvK1LcZBKbGygX
    SpUCICtSL/KadG/ZCa7DBm59Rh8uy8EtVv1txjmAvnwQSH42
    -----END CERTIFICATE-----

    """

  /// Of `key`, to the start of 2015.
  public static let expired = """
    -----BEGIN CERTIFICATE-----
    MIIBDjCBtaADAgECAgEHMAoGCCqGSM49BAMCMBExDzANBgNVBAMMBmNsaWVudDAe
    Fw0xMDAxMDEwMDAwMDBaFw0xNTAxMDEwMDAwMDBaMBExDzANBgNVBAMMBmNsaWVu
    dDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIyws2dPHbL6uFfjGWVQRCTLIbE5
    OYb86xecDoHl9cOXO35fbuExDFamiergHY5AMkPgawXJ/3lZB3YQGteMq1wwCgYI
    KoZIzj0EAwIDSAAwRQIgA2bcrsXvbm+wp4IOVZwVQ1Evg5hjdCuLkq7dNQ0racYC
    IQCAGt0t++JdNsGKzPXAAi1eXiss2VEg8dziTKESSc/RPA==
    -----END CERTIFICATE-----

    """

  /// A key on the curve P-256, used by tests alone.
  public static let key = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg99pGmrPZT6MWNVp5
    jn3t5n+p7jbOsfhu6tb5V3+/k1ahRANCAASMsLNnTx2y+rhX4xllUEQkyyGxOTmG
    /OsXnA6B5fXDlzt+X27hMQxWponq4B2OQDJD4GsFyf95WQd2EBrXjKtc
    -----END PRIVATE KEY-----

    """

  /// Another such key.
  public static let otherKey = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgEqCF6PdiLIGUoBGa
    WNJ245XZV767346iJP0GCuqwXZqhRANCAARK0duiNwvycf6ZE8eMjuc23hBapwco
    zJz3eLk3gSUbUKCfQegslDQk2YX3zT2ob2VUvCrmnmszPH1Ynb58N2Xs
    -----END PRIVATE KEY-----

    """
}
