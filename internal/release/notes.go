package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// writeNotes writes the text of the release: its section of the changelog, or what is unreleased if it has none yet.
func (r *release) writeNotes() error {
	text, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	notes, ok := section(string(text), r.version)
	if !ok {
		if notes, ok = section(string(text), "Unreleased"); !ok {
			return fmt.Errorf("CHANGELOG.md has neither a section %s nor one Unreleased", r.version)
		}
	}
	return os.WriteFile(filepath.Join(r.out, "NOTES.md"), []byte(notes), 0o644)
}

// section returns the text below the heading of a version, such as "## 0.1.0 - 2027-01-31".
func section(text, version string) (string, bool) {
	for part := range strings.SplitSeq("\n"+text, "\n## ") {
		heading, body, _ := strings.Cut(part, "\n")
		if heading == version || strings.HasPrefix(heading, version+" ") {
			return strings.TrimSpace(body) + "\n", true
		}
	}
	return "", false
}
