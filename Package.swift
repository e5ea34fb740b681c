// swift-tools-version: 6.2
// Debian packages: libssl-dev, libcurl4-openssl-dev, libsqlite3-dev.

import PackageDescription

let package = Package(
  name: "einlass",
  products: [
    .executable(name: "einlass", targets: ["EinlassCommand"]),
    .executable(name: "einlassctl", targets: ["EinlassControl"]),
    .executable(name: "einlass-sandbox", targets: ["EinlassSandbox"]),
    .library(
      name: "Einlass",
      targets: ["Einlass", "EinlassAuthenticators", "EinlassNetwork", "EinlassStorage"]),
  ],
  dependencies: [
    // The sockets of the sandbox provider. Nothing linked into `einlass` uses a package.
    .package(url: "https://github.com/swhitty/FlyingFox", exact: "0.27.1"),
    // The command line of `einlassctl`.
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
  ],
  targets: [
    // C libraries
    .target(name: "CCurl", dependencies: ["CSystem"]),
    .target(name: "COpenSSL", dependencies: ["CSystem"]),
    .target(name: "CPostgres"),
    .target(name: "CSystem"),
    .target(name: "CWALIndex", dependencies: ["CSQLite", "CSystem"]),
    .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),

    // Ground floor
    .target(name: "EinlassSystem", dependencies: ["CSystem"]),
    .target(name: "EinlassJSON"),
    .target(name: "EinlassCrypto", dependencies: ["COpenSSL"]),

    // The domain: no I/O
    .target(
      name: "Einlass", dependencies: ["EinlassJSON", "EinlassCrypto"],
      // Where the facts of the catalogue come from; no program needs it.
      exclude: ["Descriptors/sources.json"],
      resources: [.embedInCode("Descriptors/providers.json")]),

    // Adapters
    .target(
      name: "EinlassNetwork",
      dependencies: ["Einlass", "EinlassCrypto", "EinlassSystem", "CCurl", "CSystem"]),
    .target(
      name: "EinlassStorage",
      dependencies: [
        "Einlass", "EinlassCrypto", "EinlassSystem", "CPostgres", "CSQLite", "CWALIndex",
      ]),
    .target(
      name: "EinlassAuthenticators", dependencies: ["Einlass", "EinlassNetwork", "EinlassStorage"],
      exclude: ["README.md"]),
    .target(name: "EinlassRPC", dependencies: ["EinlassJSON", "EinlassSystem"]),
    .target(
      name: "EinlassServer",
      dependencies: ["Einlass", "EinlassCrypto", "EinlassJSON", "EinlassRPC", "EinlassSystem"]
    ),

    // The front end of other programs
    .target(name: "EinlassHelpers", dependencies: ["EinlassJSON", "EinlassRPC", "EinlassSystem"]),

    // Executables
    .executableTarget(
      name: "EinlassCommand",
      dependencies: [
        "Einlass", "EinlassJSON", "EinlassCrypto", "EinlassSystem", "EinlassNetwork",
        "EinlassStorage", "EinlassRPC", "EinlassServer", "EinlassHelpers",
      ]),
    .executableTarget(
      name: "EinlassControl",
      dependencies: [
        "EinlassHelpers", "EinlassJSON", "EinlassRPC", "EinlassSystem",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    .executableTarget(
      name: "EinlassSandbox",
      dependencies: [
        "EinlassJSON", "EinlassCrypto", "EinlassSystem",
        .product(name: "FlyingSocks", package: "FlyingFox"),
      ]),

    // Tests
    .target(
      name: "TestSupport",
      dependencies: ["Einlass", "EinlassCrypto", "EinlassJSON", "EinlassSystem"],
      path: "Tests/TestSupport"),
    .testTarget(name: "EinlassJSONTests", dependencies: ["EinlassJSON"]),
    .testTarget(
      name: "EinlassSystemTests", dependencies: ["EinlassSystem", "TestSupport"]),
    .testTarget(name: "EinlassCryptoTests", dependencies: ["EinlassCrypto", "TestSupport"]),
    .testTarget(
      name: "EinlassTests",
      dependencies: [
        "Einlass", "EinlassAuthenticators", "EinlassJSON", "EinlassCrypto", "EinlassSystem",
        "TestSupport",
      ]),
    .testTarget(
      name: "EinlassNetworkTests",
      dependencies: ["EinlassNetwork", "Einlass", "CCurl"], exclude: ["Server"]),
    .testTarget(
      name: "EinlassStorageTests",
      dependencies: [
        "EinlassStorage", "Einlass", "EinlassCrypto", "EinlassJSON", "EinlassSystem", "CSQLite",
        "TestSupport",
      ]),
    .testTarget(
      name: "EinlassRPCTests", dependencies: ["EinlassRPC", "EinlassJSON", "EinlassSystem"]),
    .testTarget(
      name: "EinlassServerTests",
      dependencies: [
        "EinlassServer", "Einlass", "EinlassCrypto", "EinlassJSON", "EinlassRPC", "EinlassSystem",
        "TestSupport",
      ]),
    .testTarget(
      name: "EinlassSandboxTests",
      dependencies: [
        "EinlassSandbox", "EinlassJSON", "EinlassCrypto",
        .product(name: "FlyingSocks", package: "FlyingFox"),
      ]),
    .testTarget(
      name: "EinlassControlTests",
      dependencies: [
        "EinlassControl", "EinlassHelpers", "EinlassJSON", "EinlassSystem",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    .testTarget(name: "ConformanceTests", dependencies: ["EinlassJSON"]),
  ]
)

// Tests/Fuzz needs what no program outside does; only its own builds see it.
if Context.environment["EINLASS_FUZZ"] != nil {
  package.products.append(
    .library(
      name: "EinlassParts",
      targets: [
        "Einlass", "EinlassCrypto", "EinlassJSON", "EinlassNetwork", "EinlassRPC", "EinlassServer",
        "EinlassStorage", "EinlassSystem", "TestSupport",
      ]))
}

for target in package.targets where target.type != .system {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ]
  // Tests poke at the system directly, which is what they are for.
  if target.type != .test { target.swiftSettings?.append(.strictMemorySafety()) }
}
