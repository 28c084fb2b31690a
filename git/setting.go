package git

import (
	"iter"
	"path/filepath"
	"strings"
)

// settings yields the settings in a configuration file of the repository, such as
// remote.origin.url. It reads the file only, no file that this includes, and no value of
// several lines.
func (r *Repo) settings(name string) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		text, err := readSmall(filepath.Join(r.Common, name))
		if err != nil {
			return
		}
		section := ""
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "[") {
				end := max(1, strings.LastIndexByte(line, ']'))
				kind, sub, _ := strings.Cut(line[1:end], " ")
				section = strings.ToLower(strings.TrimSpace(kind)) + "."
				if sub = strings.Trim(strings.TrimSpace(sub), `"`); sub != "" {
					section += sub + "."
				}
				continue
			}
			key, value, ok := strings.Cut(line, "=")
			if ok && !yield(section+strings.ToLower(strings.TrimSpace(key)), strings.Trim(strings.TrimSpace(value), `"`)) {
				return
			}
		}
	}
}
