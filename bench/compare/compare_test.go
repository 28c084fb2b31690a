package compare

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

var update = flag.Bool("update", false, "rewrite the table in docs/compare.md")

const (
	page       = "../../docs/compare.md"
	begin, end = "<!-- table -->\n", "<!-- end of table -->\n"
)

// TestTable compares the table in the documentation with what is found here. Ours must work
// everywhere.
func TestTable(t *testing.T) {
	var table strings.Builder
	table.WriteString("| task | ours | go-sdk | mcp-go |\n| --- | --: | --: | --: |\n")
	sums := make([]int, len(libraries))
	for _, task := range tasks {
		fmt.Fprintf(&table, "| %s", task.what)
		for i, library := range libraries {
			l := library()
			n := lines(t, filepath.Join(l.dir, task.file))
			sums[i] += n
			failed := fails(t, library, task.file)
			if l.name == "ours" && failed != "" {
				t.Errorf("%s: ours fails in%s", task.file, failed)
			}
			cell := fmt.Sprint(n)
			if failed != "" {
				cell += ", not in" + failed
			}
			fmt.Fprintf(&table, " | %s", cell)
		}
		table.WriteString(" |\n")
	}
	fmt.Fprintf(&table, "| lines in all | %d | %d | %d |\n", sums[0], sums[1], sums[2])

	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no table", page)
	}
	want := before + begin + table.String() + end + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(b) {
		t.Errorf("the table in %s is not what is found here; run the test with -update. Found:\n%s", page, table.String())
	}
}

// fails returns the revisions in which a task does not work, each after a space.
func fails(t *testing.T, library func() *library, task string) (revisions string) {
	probe := probes[task]
	if probe == nil {
		return "" // the tests of the packages run by themselves
	}
	for _, r := range mcp.Revisions() {
		if strings.HasPrefix(task, "ask") && r < mcp.R20250618 {
			continue // this revision has no questions
		}
		l := library()
		if err := try(t, l, r, probe); err != nil {
			t.Logf("%s, %s, %s: %.300v", task, l.name, r, err)
			revisions += " " + r.String()
		}
	}
	return revisions
}

func try(t *testing.T, l *library, r mcp.Revision, probe func(context.Context, *library, *mcp.Client) error) (err error) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c, err := connect(ctx, t, l, r)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer c.Close()
	return probe(ctx, l, c)
}

// lines counts the lines of a file that are neither empty nor comments.
func lines(t *testing.T, file string) (n int) {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		if line := strings.TrimSpace(s.Text()); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}
