// Count reads the output of `go test -json`, tells it to a human and counts.
//
// A passing package is one line. Of a failing test all output is shown, of a
// skipped one the reason. Lines that are not JSON are passed on. The numbers of
// passed, failed and skipped tests are appended to the file named by -totals. A
// test with subtests counts as its subtests; a package that fails without a
// failing test, by not compiling for instance, counts as one.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// An event is one line of `go test -json`; see `go doc cmd/test2json`.
type event struct {
	Action      string
	Package     string
	Test        string
	Output      string
	Elapsed     float64
	ImportPath  string // of build-output
	FailedBuild string
}

type totals struct{ passed, failed, skipped int }

func main() {
	file := flag.String("totals", "", "append the totals to this `file`")
	flag.Parse()

	t, err := count(os.Stdin, os.Stdout)
	if err == nil && *file != "" {
		err = t.appendTo(*file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "count:", err)
		os.Exit(1)
	}
}

func (t totals) appendTo(name string) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, t.passed, t.failed, t.skipped)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// A node is a package or a test of one.
type node struct {
	output      strings.Builder
	children    bool // has subtests
	failedBelow bool
	tests       int
}

func count(r io.Reader, w io.Writer) (totals, error) {
	var t totals
	nodes := map[[2]string]*node{} // by package and test; the package itself has test ""
	at := func(pkg, test string) *node {
		key := [2]string{pkg, test}
		if nodes[key] == nil {
			nodes[key] = &node{}
		}
		return nodes[key]
	}

	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if err != nil && err != io.EOF {
			return t, err
		}
		if line != "" {
			var e event
			if line[0] != '{' || json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
				fmt.Fprint(w, line)
			} else {
				t.add(e, at, w)
			}
		}
		if err == io.EOF {
			return t, nil
		}
	}
}

func (t *totals) add(e event, at func(pkg, test string) *node, w io.Writer) {
	if e.Action == "build-output" {
		fmt.Fprint(w, e.Output)
		return
	}
	n, pkg := at(e.Package, e.Test), at(e.Package, "")
	var parent *node
	if i := strings.LastIndexByte(e.Test, '/'); i > 0 {
		parent = at(e.Package, e.Test[:i])
	}
	switch e.Action {
	case "run":
		pkg.tests++
		if parent != nil {
			parent.children = true
		}
	case "output":
		n.output.WriteString(e.Output)
	case "pass", "skip":
		switch {
		case e.Test == "":
			t.finished(e, n, w)
		case n.children:
		case e.Action == "pass":
			t.passed++
		default:
			t.skipped++
			fmt.Fprintf(w, "skip  %s %s\n%s", e.Package, e.Test, reason(n.output.String()))
		}
	case "fail":
		if !n.failedBelow {
			t.failed++
		}
		if e.Test == "" {
			t.finished(e, n, w)
			return
		}
		fmt.Fprintf(w, "FAIL  %s %s (%.1fs)\n%s", e.Package, e.Test, e.Elapsed, n.output.String())
		pkg.failedBelow = true
		if parent != nil {
			parent.failedBelow = true
		}
	}
	if e.Test != "" && (e.Action == "pass" || e.Action == "skip" || e.Action == "fail") {
		n.output.Reset()
	}
}

// finished prints a package's line, and what it said if it failed.
func (t *totals) finished(e event, n *node, w io.Writer) {
	switch {
	case e.Action == "fail":
		fmt.Fprintf(w, "%sFAIL  %s (%.1fs)\n", n.output.String(), e.Package, e.Elapsed)
	case n.tests == 0:
		fmt.Fprintf(w, "none  %s\n", e.Package)
	default:
		fmt.Fprintf(w, "ok    %s (%.1fs)\n", e.Package, e.Elapsed)
	}
	n.output.Reset()
}

// reason leaves out the lines that only frame a skipped test.
func reason(output string) string {
	var b strings.Builder
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(strings.TrimSpace(line), "--- ") {
			b.WriteString(line)
		}
	}
	return b.String()
}
