// Package operate follows docs/operate.md and docs/start.md to the letter: their commands are
// taken out of the pages and run on this machine, from an empty folder to a server that was
// lost and restored, and to landed work.
package operate

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// patience bounds the whole of it; it takes under twenty seconds.
const patience = 4 * time.Minute

func TestOperate(t *testing.T) {
	pages, err := os.ReadFile(harness.Dir("..", "docs", "operate.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(pages)
	quick, drill, cleanup := blocks(page, "operate"), blocks(page, "drill"), blocks(page, "cleanup")
	if len(quick) < 5 || len(drill) < 4 || len(cleanup) != 1 {
		t.Fatalf("the page has %d steps, %d of the drill and %d to clean up; has it lost its marks?", len(quick), len(drill), len(cleanup))
	}
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump"); len(found) == 0 {
		t.Skip("PostgreSQL's server programs are not installed")
	}
	m := newMachine(t)
	var script strings.Builder
	for _, part := range [][]string{quick, drill, cleanup} {
		for _, step := range part {
			script.WriteString(step)
		}
	}
	out := m.run(t, "docs/operate.md", script.String())

	for _, want := range []string{
		"Role bossman_app may use its tables, and nothing else.",
		"This machine has a key for http://127.0.0.1:" + m.port1 + ", as ada: web (lead).",
		"web-1  Write a README",
		"1 ready",                // what the laptop sees before
		"web-1 is yours.",        // what the agent is told
		"1 in progress",          // and after
		"web-2  Added after the", // which is lost
		"web-1 is done",          // the agent reports to the restored server
	} {
		if !strings.Contains(out, want) {
			t.Errorf("nowhere it says %q", want)
		}
	}
	if _, err := os.Stat(m.base); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", m.base, err)
	}
	if t.Failed() {
		t.Log(out)
	}
}

// blocks are the commands of a page that are marked ```sh MARK.
func blocks(page, mark string) []string {
	var out []string
	var block strings.Builder
	in := false
	for line := range strings.Lines(page) {
		fence := strings.TrimSpace(line)
		switch {
		case !in && fence == "```sh "+mark:
			in = true
		case in && fence == "```":
			out = append(out, block.String())
			block.Reset()
			in = false
		case in:
			block.WriteString(line)
		}
	}
	return out
}

// A machine is this one, with a folder that is empty and ports that are free.
type machine struct {
	base, home, bin string
	port1           string
	env             []string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	for _, program := range []string{"bash", "git", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	dir, err := os.MkdirTemp("", "bossman-operate-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // PostgreSQL's user goes through it
		t.Fatal(err)
	}
	m := &machine{base: filepath.Join(dir, "srv"), home: filepath.Join(dir, "root"), bin: filepath.Join(dir, "bin")}
	for _, d := range []string{m.home, m.bin} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	programs, err := harness.Build(dir, harness.Bossman)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(programs.Path(harness.Bossman), filepath.Join(m.bin, "bossman")); err != nil {
		t.Fatal(err)
	}
	ports := freePorts(t, 5)
	m.port1 = ports[0]
	m.env = []string{
		"PATH=" + m.bin + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + m.home, "LANG=C.UTF-8", "TMPDIR=" + os.TempDir(),
		"BASE=" + m.base, "PORT1=" + ports[0], "PORT2=" + ports[1], "ADMIN1=" + ports[2], "ADMIN2=" + ports[3], "PGPORT=" + ports[4],
	}
	return m
}

// run runs the script of a page to its end, and ends what it has left behind if it failed.
func (m *machine) run(t *testing.T, page, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// Into a file: what goes on in the background has it too, and would keep a pipe open.
	log, err := os.CreateTemp(m.home, "log-")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = m.home, m.env
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	failed := cmd.Run()
	out, _ := os.ReadFile(log.Name())
	if failed == nil {
		return string(out)
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the replicas
	m.stopPostgres()
	logs, _ := filepath.Glob(filepath.Join(m.base, "*.log"))
	for _, name := range logs {
		text, _ := os.ReadFile(name)
		out = append(out, fmt.Sprintf("\n%s:\n%s", filepath.Base(name), text)...)
	}
	t.Fatalf("the commands of %s fail: %v\n%s", page, failed, out)
	return ""
}

// stopPostgres ends the server by the number that it wrote down.
func (m *machine) stopPostgres() {
	text, err := os.ReadFile(filepath.Join(m.base, "postgres", "data", "postmaster.pid"))
	if err != nil {
		return
	}
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err == nil && pid > 1 {
		_ = syscall.Kill(pid, syscall.SIGQUIT)
	}
}

// freePorts are ports that nobody uses just now.
func freePorts(t *testing.T, n int) []string {
	t.Helper()
	var ports []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		ports = append(ports, port)
	}
	return ports
}
