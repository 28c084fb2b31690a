package web

import (
	"strings"
	"unicode"
)

// Bounds of word highlights: how many lines of a block are compared, how long a line may be,
// how many words of it are compared, and how many pairs of lines in one page.
const (
	maxBlock     = 12
	maxMarkLine  = 600
	maxWords     = 120
	maxMarkPairs = 300
)

// A part is a piece of a line. Mark is ins or del for what differs from the other version of
// the line, empty for what does not.
type part struct {
	Text, Mark string
}

// words splits a line into words, runs of spaces and single other characters.
func words(s string) (list []string) {
	kind := func(r rune) int {
		switch {
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			return 1
		case unicode.IsSpace(r):
			return 2
		}
		return 0
	}
	begin, last := 0, -1
	for i, r := range s {
		k := kind(r)
		if i > begin && (k != last || k == 0) {
			list = append(list, s[begin:i])
			begin = i
		}
		last = k
	}
	if begin < len(s) {
		list = append(list, s[begin:])
	}
	return list
}

// pairLines finds, for lines that were removed, the added line that is the new version of
// each; -1 if there is none. The order of the lines is kept.
func pairLines(removed, added []string) []int {
	pairs := make([]int, len(removed))
	next := 0
	for i, r := range removed {
		pairs[i] = -1
		best := .5
		for j := next; j < len(added); j++ {
			if s := similarity(r, added[j]); s > best {
				best, pairs[i] = s, j
			}
		}
		if pairs[i] >= 0 {
			next = pairs[i] + 1
		}
	}
	return pairs
}

// similarity is the share of the words that two lines have in common, from 0 to 1.
func similarity(a, b string) float64 {
	if len(a) > maxMarkLine || len(b) > maxMarkLine {
		return 0
	}
	count, all, both := map[string]int{}, 0, 0
	for _, w := range words(a) {
		if strings.TrimSpace(w) != "" {
			count[w]++
			all += len(w)
		}
	}
	for _, w := range words(b) {
		if strings.TrimSpace(w) == "" {
			continue
		}
		all += len(w)
		if count[w] > 0 {
			count[w]--
			both += 2 * len(w)
		}
	}
	if all == 0 {
		return 0
	}
	return float64(both) / float64(all)
}

// markWords splits two versions of a line into parts: what was removed, and what was added.
// Lines that are too long are not compared.
func markWords(before, after string) (was, is []part) {
	a, b := words(before), words(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	x, y := a[head:len(a)-tail], b[head:len(b)-tail]
	if len(x) > maxWords || len(y) > maxWords {
		return []part{{before, ""}}, []part{{after, ""}}
	}
	keepX, keepY := common(x, y)
	was, is = build(a, head, tail, keepX, "del"), build(b, head, tail, keepY, "ins")
	return was, is
}

// common marks the words of a longest common subsequence.
func common(a, b []string) (inA, inB []bool) {
	n, m := len(a), len(b)
	length := make([]int, (n+1)*(m+1))
	at := func(i, j int) int { return i*(m+1) + j }
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[at(i, j)] = length[at(i+1, j+1)] + 1
			} else {
				length[at(i, j)] = max(length[at(i+1, j)], length[at(i, j+1)])
			}
		}
	}
	inA, inB = make([]bool, n), make([]bool, m)
	for i, j := 0, 0; i < n && j < m; {
		switch {
		case a[i] == b[j]:
			inA[i], inB[j] = true, true
			i, j = i+1, j+1
		case length[at(i+1, j)] >= length[at(i, j+1)]:
			i++
		default:
			j++
		}
	}
	return inA, inB
}

// build joins words to parts. Spaces between two marked words are marked with them.
func build(list []string, head, tail int, keep []bool, mark string) (parts []part) {
	marked := make([]bool, len(list))
	for i := range keep {
		marked[head+i] = !keep[i]
	}
	for i := 1; i+1 < len(list)-tail; i++ {
		if !marked[i] && marked[i-1] && marked[i+1] && strings.TrimSpace(list[i]) == "" {
			marked[i] = true
		}
	}
	for i, w := range list {
		m := ""
		if marked[i] {
			m = mark
		}
		if n := len(parts); n > 0 && parts[n-1].Mark == m {
			parts[n-1].Text += w
			continue
		}
		parts = append(parts, part{w, m})
	}
	return parts
}
