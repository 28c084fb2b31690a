package crew

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A process is one that runs.
type process struct {
	pid, parent int
	words       []string // its command line
	environ     []string
}

// processes are those that run.
func processes() (all []process) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		p := process{words: fields(filepath.Join(dir, "cmdline")), environ: fields(filepath.Join(dir, "environ"))}
		p.pid, _ = strconv.Atoi(filepath.Base(dir))
		stat, err := os.ReadFile(filepath.Join(dir, "stat")) // pid (name) state parent …
		if i := bytes.LastIndexByte(stat, ')'); err == nil && i > 0 {
			p.parent, _ = strconv.Atoi(strings.Fields(string(stat[i+1:]))[1])
			all = append(all, p)
		}
	}
	return all
}

func fields(path string) []string {
	b, _ := os.ReadFile(path) // it may have ended
	return strings.Split(string(b), "\x00")
}

// mentions reports whether a text is in the command line or the environment of a process.
func (p process) mentions(text string) bool {
	has := func(words []string) bool { return strings.Contains(strings.Join(words, "\n"), text) }
	return has(p.words) || has(p.environ)
}

func (p process) isMinder() bool { return len(p.words) > 1 && p.words[1] == "minder" }

// kill kills the agent of a job, or what started it.
func (j *job) kill() error {
	pid, err := j.pid()
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// pid is the process of a job that is to be killed.
func (j *job) pid() (int, error) {
	all := processes()
	byPID := map[int]process{}
	for _, p := range all {
		byPID[p.pid] = p
	}
	for _, p := range all {
		if !p.mentions("BOSSMAN_CLAIM=" + j.claim) {
			continue
		}
		started := byPID[p.parent].isMinder()
		agent := !started && byPID[byPID[p.parent].parent].isMinder()
		if started && (j.kind == command || j.fault == launcherKilled) || agent && j.fault != launcherKilled {
			return p.pid, nil
		}
	}
	return 0, fmt.Errorf("the agent of %s is not there", j.claim)
}
