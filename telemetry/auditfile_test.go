package telemetry_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bossman-dev/bossman/telemetry"
)

func openAudit(t *testing.T, path string) *telemetry.AuditFile {
	t.Helper()
	f, err := telemetry.OpenAudit(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func writeAudit(t *testing.T, f *telemetry.AuditFile, from, to int) {
	t.Helper()
	var block strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&block, `{"time":"2026-01-02T03:04:%02dZ","method":"tools/call","outcome":"ok"}`+"\n", i)
	}
	if _, err := f.Write([]byte(block.String())); err != nil {
		t.Fatal(err)
	}
}

func checkAudit(t *testing.T, head string, files ...string) *telemetry.AuditCheck {
	t.Helper()
	c := telemetry.NewAuditCheck(head)
	for i, text := range files {
		if err := c.Read(fmt.Sprint("file ", i+1), strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// An audit stream goes on over restarts and rotations, and a check finds nothing.
func TestAuditFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	old := `{"time":"2026-01-02T03:04:00Z","method":"x","outcome":"ok"}` + "\n" // by an older version
	if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	f := openAudit(t, path)
	writeAudit(t, f, 1, 4)
	f = openAudit(t, path) // a restart
	writeAudit(t, f, 4, 5)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	writeAudit(t, f, 5, 6) // still to the old file
	if err := f.Reopen(); err != nil {
		t.Fatal(err)
	}
	rotated := f.Head()
	writeAudit(t, f, 6, 9)
	first, second := readText(t, path+".1"), readText(t, path)
	c := checkAudit(t, rotated, first, second)
	if len(c.Faults) != 0 || !c.Seen || c.Before != "" || c.Lines != 9 || c.Unchained != 1 || c.Torn != 0 || c.Head != f.Head() || c.First.Second() != 0 || c.Last.Second() != 8 {
		t.Errorf("%+v", c)
	}
	if c := checkAudit(t, "", second); len(c.Faults) != 0 || c.Lines != 3 || c.Before != rotated {
		t.Errorf("the second file alone: %+v", c)
	}
	if c := checkAudit(t, f.Head(), first); c.Seen {
		t.Error("a line is seen that is in the other file")
	}
}

// A check finds every line that was changed, added, taken out, moved or cut off.
func TestAuditCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	f := openAudit(t, path)
	writeAudit(t, f, 0, 6)
	text := readText(t, path)
	head := f.Head()
	lines := slices.Collect(strings.Lines(text))
	with := func(edit func(l []string) []string) string { return strings.Join(edit(slices.Clone(lines)), "") }
	for i := range lines {
		for name, got := range map[string]string{
			"changed":   with(func(l []string) []string { l[i] = strings.Replace(l[i], "ok", "no", 1); return l }),
			"taken out": with(func(l []string) []string { return slices.Delete(l, i, i+1) }),
			"doubled":   with(func(l []string) []string { return slices.Insert(l, i, l[i]) }),
			"forged":    with(func(l []string) []string { return slices.Insert(l, i, `{"method":"x","outcome":"ok"}`+"\n") }),
			"nonsense":  with(func(l []string) []string { return slices.Insert(l, i, "x\n") }),
			"halved":    with(func(l []string) []string { l[i] = l[i][:20] + "\n"; return l }),
			"cut off":   with(func(l []string) []string { return l[:i] }),
			"emptied":   with(func(l []string) []string { l[i] = "\n"; return l }),
			"moved":     with(func(l []string) []string { j := (i + 1) % len(l); l[i], l[j] = l[j], l[i]; return l }),
		} {
			if c := checkAudit(t, head, got); len(c.Faults) == 0 && c.Seen && c.Before == "" {
				t.Errorf("line %d %s: nothing is found: %+v", i+1, name, c)
			}
		}
	}
	if c := checkAudit(t, head, text); len(c.Faults) > 0 || !c.Seen {
		t.Errorf("unchanged: %+v", c)
	}
}

// A line that was written in part, because the server was killed or the disk was full, is told apart from a forged one.
func TestAuditFile_torn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	writeAudit(t, openAudit(t, path), 0, 3)
	whole := readText(t, path)
	for cut := range len(whole) {
		if err := os.WriteFile(path, []byte(whole[:cut]), 0o600); err != nil {
			t.Fatal(err)
		}
		f := openAudit(t, path)
		writeAudit(t, f, 3, 5)
		text := readText(t, path)
		c := checkAudit(t, f.Head(), text)
		first := strings.IndexByte(whole, '\n')
		if cut > 0 && cut < first { // the stream began with half a line
			if len(c.Faults) != 1 || c.Faults[0].Line != 1 {
				t.Errorf("cut at %d: %+v", cut, c)
			}
			continue
		}
		if len(c.Faults) > 0 || !c.Seen {
			t.Errorf("cut at %d: %+v\n%s", cut, c, text)
		}
	}
}

// A full disk tears a line, and the stream goes on when there is room again.
func TestAuditFile_full(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	f := openAudit(t, path)
	writeAudit(t, f, 0, 3)
	size := len(readText(t, path))
	small := limit
	small.Cur = uint64(size + 40)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		t.Fatal(err)
	}
	_, err := f.Write(bytes.Repeat([]byte(`{"method":"x","outcome":"ok"}`+"\n"), 3))
	_, again := f.Write([]byte(`{"method":"x","outcome":"ok"}` + "\n"))
	if e := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); e != nil {
		t.Fatal(e)
	}
	if !errors.Is(err, syscall.EFBIG) || !errors.Is(again, syscall.EFBIG) {
		t.Fatalf("Write = %v, %v", err, again)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := f.Reopen(); err != nil {
		t.Fatal(err)
	}
	writeAudit(t, f, 3, 5)
	if c := checkAudit(t, f.Head(), readText(t, path+".1"), readText(t, path)); len(c.Faults) > 0 || !c.Seen || c.Torn != 1 || c.Lines != 6 {
		t.Errorf("%+v\n%s", c, readText(t, path))
	}
}
