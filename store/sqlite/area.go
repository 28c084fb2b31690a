package sqlite

import "strings"

// areas is the set of directories that live claims work in.
type areas struct {
	paths map[string]bool
	above map[string]bool // the ancestors of paths
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

// overlap reports whether one of paths equals, contains or is contained in one of a.
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

// cleanArea returns a/b for ./a/b/, and "" for the whole tree.
func cleanArea(p string) string {
	p = strings.Trim(strings.TrimPrefix(p, "./"), "/")
	if p == "." {
		return ""
	}
	return p
}

// parents yields a/b, a and "" for a/b/c.
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
