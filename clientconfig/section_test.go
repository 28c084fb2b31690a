package clientconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A section is put behind what is there, replaced in its place, and removed without a trace.
func TestSection(t *testing.T) {
	for _, text := range []string{"", "# Rules\n\nBe nice.\n", "no newline", "a\r\nb\r\n", "a\n\n\n"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "AGENTS.md")
		if text != "" {
			writeFile(t, path, text)
		}
		step := func(section string) string {
			t.Helper()
			p, err := Section(dir, "AGENTS.md", section)
			if err != nil {
				t.Fatal(err)
			}
			writeAll(t, []*Plan{p})
			got, _ := os.ReadFile(path)
			return string(got)
		}
		one := step("## Tasks\nUse the board.")
		if !strings.HasPrefix(one, text) || !strings.Contains(one, "Use the board.") || strings.Contains(text, "\r\n") != strings.Contains(one, "board.\r\n") {
			t.Errorf("%q becomes %q", text, one)
		}
		if again := step("## Tasks\nUse the board."); again != one {
			t.Errorf("a second time %q becomes %q", one, again)
		}
		if two := step("Another."); strings.Contains(two, "board") || !strings.Contains(two, "Another.") {
			t.Errorf("%q becomes %q", one, two)
		}
		step("")
		if got := tree(t, dir); text == "" && len(got) > 0 || text != "" && (len(got) != 1 || got["AGENTS.md"] != text) {
			t.Errorf("%q is %q in the end", text, got)
		}
		writeFile(t, path, "a\n\n"+sectionBegin+"\nx\n"+sectionEnd+"\n\nb\n")
		if got := step(""); got != "a\n\nb\n" {
			t.Errorf("what is around the section becomes %q", got)
		}
		writeFile(t, path, sectionBegin+"\n")
		if _, err := Section(dir, "AGENTS.md", "x"); err == nil {
			t.Error("a section without an end is replaced")
		}
	}
}
