package proc

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// groupsWord is what RunMinder is told to mind groups.
const groupsWord = "groups"

// Groups are process groups that end with this process, however that ends: a minder, a process of our
// own, kills what is left of them. A ledger, a file, has the same list, for the case that both are
// killed: EndLeft reads it.
//
//	Groups ──► "+pgid start-time", "-pgid" ──► minder    when its input ends: SIGKILL
//	   └─────────────────────────────────────► ledger    read by the next process
//
// The minder runs as long as there are groups.
type Groups struct {
	self []string
	dir  string

	mu sync.Mutex
	// name and mark change when the minder ends, which kills everything that has the mark.
	name, mark string
	starting   int            // how many processes have the mark and may not have been added yet
	ending     sync.WaitGroup // minders that end

	minder *exec.Cmd
	input  *os.File
	ledger *os.File
	groups map[int]string // start time by group
}

// NewGroups returns an empty set. self is the command line of this program that calls RunMinder, and dir is
// where the ledger is written.
func NewGroups(self []string, dir string) *Groups {
	g := &Groups{self: self, dir: dir, groups: map[int]string{}}
	g.renameLocked()
	return g
}

// Mark returns the variable that a process must have in its environment, so that what leaves its group is found, too.
// started must be called when the process was added, or could not be started.
func (g *Groups) Mark() (variable string, started func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.starting++
	return Marker + "=" + g.mark, sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.starting--
	})
}

// renameLocked sets another mark.
func (g *Groups) renameLocked() {
	g.name = strings.ToLower(rand.Text()[:10])
	g.mark = fmt.Sprintf("groups.%d.%s.%s", os.Getpid(), startTimeOf(os.Getpid()), g.name)
}

// InGroups reports whether this process was started with the mark of Groups.
func InGroups() bool { return strings.HasPrefix(os.Getenv(Marker), "groups.") }

// Add adds the group of a process that was just started, as its leader. If the minder cannot be
// started, the ledger has it all the same.
func (g *Groups) Add(pid int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pruneLocked()
	start := startTimeOf(pid)
	g.groups[pid] = start
	setMark(Marker+"="+g.mark, true)
	setKnown(pid, true)
	line := fmt.Sprintf("+%d %s\n", pid, start)
	err := g.writeLedgerLocked(line)
	if g.input == nil {
		return errors.Join(err, g.startLocked())
	}
	_, werr := g.input.WriteString(line)
	if werr != nil { // it was killed
		g.input.Close()
		g.input = nil
		werr = g.startLocked()
	}
	return errors.Join(err, werr)
}

// Prune removes groups that have ended, and reports whether any is left. Without any, the minder
// ends, too.
func (g *Groups) Prune() (left bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pruneLocked()
	if len(g.groups) > 0 || g.starting > 0 {
		return true
	}
	g.closeLocked()
	return false
}

// End kills what is left of the groups, and everything that was started there and has left them. It returns when
// all of that has ended.
func (g *Groups) End() {
	g.mu.Lock()
	if len(g.groups) > 0 || g.input != nil {
		l := &groupList{mark: g.mark, groups: maps.Clone(g.groups)}
		l.end(false)
		g.pruneLocked()
	}
	g.closeLocked()
	g.mu.Unlock()
	g.ending.Wait()
}

func (g *Groups) pruneLocked() {
	for pid := range g.groups {
		if groupRuns(pid) {
			continue
		}
		delete(g.groups, pid)
		setKnown(pid, false)
		line := fmt.Sprintf("-%d\n", pid)
		if g.input != nil {
			_, _ = g.input.WriteString(line)
		}
		_ = g.writeLedgerLocked(line)
	}
}

// closeLocked ends the minder, which kills what is left.
func (g *Groups) closeLocked() {
	if g.input != nil {
		g.input.Close()
		g.input = nil
		minder, mark := g.minder, Marker+"="+g.mark
		g.ending.Go(func() {
			_ = waitKnown(minder)
			setMark(mark, false)
		})
	}
	g.renameLocked()
	if g.ledger != nil {
		os.Remove(g.ledger.Name())
		g.ledger.Close()
		g.ledger = nil
	}
}

// startLocked starts a minder, and tells it all groups.
func (g *Groups) startLocked() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := exec.Command(Program(g.self[0]), append(slices.Clone(g.self[1:]), groupsWord, g.mark)...)
	cmd.Stdin = r
	cmd.Dir = "/"
	cmd.SysProcAttr = ownSession()
	CloseInherited(cmd)
	err = startKnown(cmd)
	r.Close()
	if err != nil {
		w.Close()
		return fmt.Errorf("start a minder: %w", replaced(cmd.Path, err))
	}
	g.minder, g.input = cmd, w
	for pid, start := range g.groups {
		if _, err := fmt.Fprintf(w, "+%d %s\n", pid, start); err != nil {
			return err
		}
	}
	return nil
}

// ledgerName is the name of the ledger, by which EndLeft knows whose it is.
func (g *Groups) ledgerName() string {
	return fmt.Sprintf("%d-%s-%s.groups", os.Getpid(), startTimeOf(os.Getpid()), g.name)
}

func (g *Groups) writeLedgerLocked(line string) error {
	if g.dir == "" {
		return nil
	}
	if g.ledger == nil {
		if err := os.MkdirAll(g.dir, 0o700); err != nil {
			return err
		}
		f, err := os.OpenFile(filepath.Join(g.dir, g.ledgerName()), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		g.ledger = f
		if _, err := fmt.Fprintf(f, "mark %s\n", g.mark); err != nil {
			return err
		}
	}
	_, err := g.ledger.WriteString(line)
	return err
}

// A groupList is what a minder or a ledger was told.
type groupList struct {
	mark   string
	groups map[int]string
}

func (l *groupList) read(line string) {
	if mark, ok := strings.CutPrefix(line, "mark "); ok {
		l.mark = mark
		return
	}
	if len(line) < 2 {
		return
	}
	number, start, _ := strings.Cut(line[1:], " ")
	pid, err := strconv.Atoi(number)
	if err != nil || pid < 2 {
		return
	}
	if line[0] == '+' {
		l.groups[pid] = start
	} else {
		delete(l.groups, pid)
	}
}

// EndLeft kills what dead processes have left, according to their ledgers in a directory. A process that
// has the number of one of theirs, but was started at another time, is not touched. It returns how many
// groups it found.
func EndLeft(dir string) (found int) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.groups"))
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".groups")
		number, start, _ := strings.Cut(name, "-")
		start, _, _ = strings.Cut(start, "-")
		pid, err := strconv.Atoi(number)
		if err != nil || pid == os.Getpid() || start != "" && startTimeOf(pid) == start {
			continue // it runs
		}
		text, err := os.ReadFile(file)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				os.Remove(file)
			}
			continue
		}
		l := &groupList{groups: map[int]string{}}
		for line := range strings.Lines(string(text)) {
			l.read(strings.TrimSuffix(line, "\n"))
		}
		found += l.end(true)
		os.Remove(file)
	}
	return found
}
