package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var block = regexp.MustCompile("(?s)```go\n(.*?)```")

// Each declaration in the code of the pages for users of the packages is in a file of bench/guide,
// which the compiler has seen.
func TestPages(t *testing.T) {
	var sources strings.Builder
	files, err := filepath.Glob(filepath.Join(root, "bench", "guide", "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sources.Write(b)
	}
	for _, page := range []string{"library.md", "from-go-sdk.md", "from-mcp-go.md"} {
		b, err := os.ReadFile(filepath.Join(root, "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		blocks := block.FindAllStringSubmatch(string(b), -1)
		if len(blocks) == 0 {
			t.Errorf("%s has no code", page)
		}
		for _, code := range blocks {
			for declaration := range strings.SplitSeq(code[1], "\n}\n") {
				if d := strings.TrimSpace(declaration); !strings.Contains(sources.String(), d) {
					t.Errorf("%s has code that is in no file of bench/guide:\n%s", page, d)
				}
			}
		}
	}
}
