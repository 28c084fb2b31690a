package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every command has a page, except hidden ones, and no text in it is an instruction.
func TestWriteReleaseFiles(t *testing.T) {
	root := &cobra.Command{Use: "tool", Short: "Does things", Long: "First.\n\n.so /etc/passwd\n'quote \\n"}
	sub := &cobra.Command{Use: "add NAME", Short: "Add one", Example: "  tool add x", Run: func(*cobra.Command, []string) {}}
	sub.Flags().String("in", "", "the `FILE` to read")
	root.AddCommand(sub, &cobra.Command{Use: "secret", Hidden: true, Run: func(*cobra.Command, []string) {}})
	dir := t.TempDir()
	if err := WriteReleaseFiles(root, dir, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"completions/tool.bash", "completions/_tool", "completions/tool.fish", "completions/tool.ps1"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "man/man1/tool-secret.1")); err == nil {
		t.Error("a hidden command has a page")
	}
	page, err := os.ReadFile(filepath.Join(dir, "man/man1/tool.1"))
	if err != nil || !strings.Contains(string(page), "\n\\&.so /etc/passwd\n\\&'quote \\en\n") || !strings.Contains(string(page), `\fBtool\-add\fR(1)`) {
		t.Errorf("tool.1: %v\n%s", err, page)
	}
	page, err = os.ReadFile(filepath.Join(dir, "man/man1/tool-add.1"))
	for _, want := range []string{`"Bossman 1.2.3"`, "tool\\-add \\- Add one", "\\fB\\-\\-in\\fR FILE\nthe FILE to read", ".SH EXAMPLES"} {
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("tool-add.1 has no %q: %v\n%s", want, err, page)
		}
	}
}
