extension String {
    /// The word that was probably meant instead of this one, in parentheses; empty if none is near.
    func suggestion(among words: some Sequence<String>) -> String {
        let nearest = words.map { (word: $0, distance: distance(to: $0)) }.min { $0.distance < $1.distance }
        // A slip or two, and not just any word of the same length.
        guard let nearest, nearest.distance <= Swift.max(1, Swift.min(2, utf8.count / 4)) else { return "" }
        return " (did you mean \(nearest.word)?)"
    }

    /// How many bytes are inserted, left out, replaced or exchanged with the next in `other`.
    private func distance(to other: String) -> Int {
        let (own, others) = (Array(utf8), Array(other.utf8))
        var (before, last) = ([Int](), Array(0...others.count))
        for i in own.indices {
            var next = [i + 1]
            for j in others.indices {
                let isExchanged = i > 0 && j > 0 && own[i] == others[j - 1] && own[i - 1] == others[j]
                let exchanged = isExchanged ? before[j - 1] + 1 : .max
                next.append(Swift.min(last[j] + (own[i] == others[j] ? 0 : 1), last[j + 1] + 1, next[j] + 1, exchanged))
            }
            (before, last) = (last, next)
        }
        return last[others.count]
    }
}
