/// What the command line asks for.
struct Options {
    static let help = """
        Usage: framesocket-bench [--quick] [--json] [--filter TEXT]... [--list] [--fixtures DIR]
                               [--lane-read BYTES]

        Prints for each case what plain C takes and what this package takes, for one frame, and the ratio: below 1 ours
        takes less. Both run in turns in one run; medians count.

          --quick        fewer and shorter rounds
          --json         one JSON object a line
          --filter TEXT  only cases whose name contains TEXT, or one of several
          --list         only the names of the cases
          --fixtures DIR where the pictures are (Fixtures)
          --lane-read N  how many bytes of each row the receiver of a lane reads (64)
        """

    var isQuick = false
    var isJSON = false
    var isList = false
    var filters: [String] = []
    var fixtures = "Fixtures"
    var laneRead = 64

    /// Reads the words of a command line; nil where one is not understood.
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
            case "--lane-read":
                guard let count = words.next().flatMap({ UInt16($0) }) else { return nil }
                laneRead = Int(count)
            default: return nil
            }
        }
    }

    /// Whether a case is wanted.
    func wants(_ name: String) -> Bool {
        filters.isEmpty || filters.contains { name.contains($0) }
    }

    /// One of two amounts: for the quick form, or for the full one.
    func amount(_ quick: Int, _ full: Int) -> Int {
        isQuick ? quick : full
    }

    /// How often both sides of a case are run.
    func rounds(_ benchmark: Benchmark) -> Int {
        benchmark.isSlow ? amount(1, 5) : amount(5, 15)
    }
}
