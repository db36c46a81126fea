/// The options of the command line.
struct Options {
    static let help = """
        Usage: framesocket-bench [--quick] [--json] [--filter TEXT]... [--list] [--fixtures DIR]
                               [--lane-read BYTES]
               framesocket-bench --links FILE [--fixtures DIR]

        Runs each case with plain C and with this package, in turns, and prints the
        median cost per frame of both, and the ratio: below 1, this package costs less.

          --quick        run fewer and shorter rounds
          --json         print one JSON object per line
          --filter TEXT  run only cases whose names contain TEXT; may be repeated
          --list         list the names of the cases
          --fixtures DIR directory of the images (Fixtures)
          --links FILE   instead, send images over slow links for five minutes, print what
                         arrives, and write a line for each frame to FILE
          --lane-read N  bytes of each row that the receiver of a lane reads (64)
        """

    var isQuick = false
    var isJSON = false
    var isList = false
    var filters: [String] = []
    var fixtures = "Fixtures"
    var laneRead = 64
    var linksFile: String?

    /// Parses a command line; nil if an argument is invalid.
    init?(_ words: some Sequence<String>) {
        var words = words.makeIterator()
        while let word = words.next() {
            switch word {
            case "--quick": isQuick = true
            case "--json": isJSON = true
            case "--list": isList = true
            case "--filter":
                guard let text = words.next() else { return nil }
                filters.append(text)
            case "--fixtures":
                guard let directory = words.next() else { return nil }
                fixtures = directory
            case "--links":
                guard let path = words.next() else { return nil }
                linksFile = path
            case "--lane-read":
                guard let count = words.next().flatMap({ UInt16($0) }) else { return nil }
                laneRead = Int(count)
            default: return nil
            }
        }
    }

    /// Whether a case is selected.
    func wants(_ name: String) -> Bool {
        filters.isEmpty || filters.contains { name.contains($0) }
    }

    /// One of two amounts: for a quick run, or for a full one.
    func amount(_ quick: Int, _ full: Int) -> Int {
        isQuick ? quick : full
    }

    /// How often both sides of a case are run.
    func rounds(_ benchmark: Benchmark) -> Int {
        benchmark.isSlow ? amount(1, 5) : amount(5, 15)
    }
}
