package gateway

import "strings"

// maxCompared bounds the product of the lines of two texts that are compared.
const maxCompared = 4_000_000

// Changes compares the definition of an item with the one that was approved last, line by line. Each line
// begins with "+ ", "- " or two spaces; all are new if none was approved. Everything is spelled out that cannot
// be seen.
func (g *Gateway) Changes(it Item) []string {
	before := ""
	if p := g.Approved(it); p != nil {
		before = ReadableText(p.Definition)
	}
	return diffLines(before, ReadableText(it.Definition))
}

// diffLines compares two texts line by line.
func diffLines(before, after string) []string {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	if before == "" {
		a = nil
	}
	if len(a)*len(b) > maxCompared { // too large to compare: all of both
		var out []string
		for _, line := range a {
			out = append(out, "- "+line)
		}
		for _, line := range b {
			out = append(out, "+ "+line)
		}
		return out
	}
	// common[i][j] is the length of the longest common part of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, "  "+a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return out
}
