package sqlite

import "strings"

// areas is a set of directories that somebody works in.
type areas struct {
	paths map[string]bool
	above map[string]bool // the directories over them
}

func newAreas() areas { return areas{paths: map[string]bool{}, above: map[string]bool{}} }

func (a areas) add(paths []string) {
	for _, p := range paths {
		p = cleanArea(p)
		a.paths[p] = true
		for up := range parents(p) {
			a.above[up] = true
		}
	}
}

// overlap reports whether one of paths is, contains or is contained in one of a.
func (a areas) overlap(paths []string) bool {
	for _, p := range paths {
		p = cleanArea(p)
		if a.paths[p] || a.above[p] {
			return true
		}
		for up := range parents(p) {
			if a.paths[up] {
				return true
			}
		}
	}
	return false
}

// cleanArea makes a/b of ./a/b/, and nothing of the whole tree.
func cleanArea(p string) string {
	p = strings.Trim(strings.TrimPrefix(p, "./"), "/")
	if p == "." {
		return ""
	}
	return p
}

// parents yields a/b, a and "" of a/b/c.
func parents(p string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for p != "" {
			p = p[:max(strings.LastIndexByte(p, '/'), 0)]
			if !yield(p) {
				return
			}
		}
	}
}
