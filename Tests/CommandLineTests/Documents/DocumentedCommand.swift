import TestDescriptions
import Testing

/// Blocks of the documentation that belong together, and what is done with them.
struct DocumentedCommand: Sendable, CustomTestStringConvertible {
    enum Treatment: Sendable {
        /// Nothing that a reader would type into a shell: what a program prints, a grammar, a file.
        case noCommand
        /// Each line is a step of `.ci/run`.
        case step
        /// A script reads the block, and runs it.
        case script(String)
        /// The tests run it.
        case run(@Sendable (DocumentedRun) async throws -> Void)
    }

    /// Each block's page, a colon and a blank, and how its first line begins.
    let blocks: [String]
    let treatment: Treatment

    init(_ blocks: String..., treatment: Treatment) {
        self.blocks = blocks
        self.treatment = treatment
    }

    init(_ blocks: String..., run: @escaping @Sendable (DocumentedRun) async throws -> Void) {
        self.blocks = blocks
        treatment = .run(run)
    }

    var testDescription: String { shortened(blocks.joined(separator: ", "), to: 90) }

    /// Whether a block is one of these.
    func names(_ block: DocumentedBlock) -> Bool {
        blocks.contains { "\(block.file): \(block.lines.first ?? "")".hasPrefix($0) }
    }

    /// Every block of the documentation, but for fenced Swift, which `make docs` compiles.
    static let all = programs + pages + pipes + network + unrun

    private static let unrun: [DocumentedCommand] = [
        DocumentedCommand("README.md: make demo", treatment: .step),
        DocumentedCommand("README.md: $ framesocket receive screen --newest", treatment: .noCommand),
        DocumentedCommand("Examples/README.md: swift run", treatment: .script("scripts/check-examples")),
        DocumentedCommand("Examples/Gateway/README.md: sender →", treatment: .noCommand),
        DocumentedCommand(
            "Examples/Gateway/README.md: python3 Examples/Gateway/serve.py",
            treatment: .script("Tests/Gateway/check")
        ),
        DocumentedCommand("Examples/ScreenCapture/README.md: X server →", treatment: .noCommand),
        DocumentedCommand(
            "Examples/ScreenCapture/README.md: .build-release/release/framesocket preview",
            treatment: .script("Tests/Capture/check")
        ),
        DocumentedCommand("docs/architecture.md: pixels", treatment: .noCommand),
        DocumentedCommand("docs/doctor.md: {\"event\"", treatment: .noCommand),
        DocumentedCommand("docs/peers/README.md: HTTP/1.1", treatment: .noCommand),
        DocumentedCommand("docs/pipes.md: 30.0 frames/s", treatment: .noCommand),
        DocumentedCommand("docs/pipes.md: {\"event\"", treatment: .noCommand),
        DocumentedCommand("docs/scaling.md: machine A:", treatment: .noCommand),
        DocumentedCommand("docs/services.md: [Unit]", treatment: .noCommand),
        DocumentedCommand("docs/services.md: [Socket]", treatment: .noCommand),
        DocumentedCommand("docs/services.md: [Service]", treatment: .noCommand),
        DocumentedCommand("docs/services.md: [Install]", treatment: .noCommand),
        DocumentedCommand("docs/services.md: d /run/framesocket", treatment: .noCommand),
        DocumentedCommand("docs/apple.md: <key>NSExtension</key>", treatment: .noCommand),
        DocumentedCommand("docs/services.md: guard let socket", treatment: .noCommand),
        DocumentedCommand("docs/services.md: groups:", treatment: .noCommand),
        DocumentedCommand("docs/wire-format.md: HTTP/1.1", treatment: .noCommand),
        DocumentedCommand("docs/wire-format.md: message     =", treatment: .noCommand),
        DocumentedCommand("docs/wire-format.md: request ", treatment: .noCommand),
        DocumentedCommand("docs/wire-format.md: values = ", treatment: .noCommand),
        DocumentedCommand("docs/wire-format.md: POST /", treatment: .noCommand),
        DocumentedCommand("docs/wire-format.md: 00000000", treatment: .noCommand),
        DocumentedCommand("Sources/FrameSocket/FrameSocket.docc/GettingStarted.md: a frame of", treatment: .noCommand),
    ]
}
