package crew

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/plaindir"
	"github.com/bossman-dev/bossman/proc"
)

const (
	// answerFailures is how often the command may fail at a question, and answerTries how often it is
	// begun, also if bossman work ended meanwhile. Then the question waits for people.
	answerFailures = 2
	answerTries    = 6
	// answerTime is how long the command may take, unless something else is said.
	answerTime = 10 * time.Minute
	// maxAnswer bounds what is read of its output: more than the board takes, which says so.
	maxAnswer = 64 << 10
)

// An Answerer answers questions of workers with a command. It never sees those that only people may
// answer, such as those about permissions.
type Answerer struct {
	r       *Runner
	command []string
	quote   func(q board.Question, d *board.Dossier) ([]byte, error)
	seat    Seat
	dir     string // of a file for each question that was tried
	number  atomic.Int32
}

// Answerer returns one that works as the runner's options say, in as many questions at a time as these
// have agents. quote makes the command's standard input; d is nil if the question is about no task.
func (r *Runner) Answerer(command []string, quote func(q board.Question, d *board.Dossier) ([]byte, error)) *Answerer {
	return &Answerer{r: r, command: command, quote: quote, dir: filepath.Join(r.o.Repo.Common, "bossman", "answers")}
}

// Answered is how many questions it has answered.
func (a *Answerer) Answered() int { return int(a.number.Load()) }

// Run answers questions until drain ends, or with Options.UntilEmpty until there is none left for it. When
// ctx ends, commands are ended at once.
func (a *Answerer) Run(ctx, drain context.Context) error {
	unlock, err := a.r.begin()
	if err != nil {
		return err
	}
	defer unlock()
	if err := git.MakeDir(a.dir); err != nil {
		return err
	}
	stop, err := proc.Adopt()
	if err != nil {
		return err
	}
	defer stop()
	a.seat = a.r.o.Seat(a.r.o.Repo.Root, false)
	defer a.r.leave(ctx, a.seat.Actor.Owner)
	var wg sync.WaitGroup
	for n := range a.r.o.Agents {
		wg.Go(func() { a.work(ctx, drain, fmt.Sprintf("answer-%d", n+1)) })
	}
	wg.Wait()
	return nil
}

// work answers one question after the other.
func (a *Answerer) work(ctx, drain context.Context, slot string) {
	report := func(kind EventKind, q *board.Question, text string) {
		e := Event{Slot: slot, Agent: filepath.Base(a.command[0]), Kind: kind, Text: text}
		if q != nil {
			e.Task, e.Title = q.Claim.Task, q.Text
		}
		a.r.o.Report(e)
	}
	defer report(Over, nil, "")
	report(Waiting, nil, "waits for a question")
	pause := retryFirst
	for drain.Err() == nil && ctx.Err() == nil {
		q, free, err := a.next(drain)
		switch {
		case drain.Err() != nil:
		case err != nil:
			report(Trouble, nil, fmt.Sprintf("the questions cannot be read: %v; next try in %v", err, pause))
			wait(drain, pause)
			pause = min(2*pause, retryLast)
		case q == nil && a.r.o.UntilEmpty:
			return
		case q == nil:
			wait(drain, look)
		default:
			pause = retryFirst
			report(Answering, q, q.ID.String())
			answer, last, err := a.try(ctx, *q)
			free()
			switch {
			case err == nil:
				a.number.Add(1)
				report(Answered, q, fmt.Sprintf("%v: %s", q.ID, answer))
			case ctx.Err() != nil:
			case last:
				report(Trouble, q, fmt.Sprintf("%v is not answered: %v; it waits for a person", q.ID, err))
			default:
				report(Trouble, q, fmt.Sprintf("%v is not answered: %v", q.ID, err))
			}
			report(Waiting, nil, "waits for a question")
		}
	}
}

// next takes the oldest open question that may be tried and that nobody else on this machine tries. It
// is nil if there is none.
func (a *Answerer) next(ctx context.Context) (found *board.Question, free func(), err error) {
	dir, err := a.open()
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	known, _ := plaindir.Entries(dir) // before the questions: one that is asked now has no file among them
	open, err := a.r.o.Board.Questions(ctx, board.QuestionFilter{Projects: []string{a.r.o.Project}, State: board.QuestionOpen})
	if err != nil {
		return nil, nil, err
	}
	a.forget(dir, known, open)
	for _, q := range open {
		if q.HumanOnly || q.Owner == a.seat.Actor.Owner || a.spent(q) {
			continue
		}
		free, ok, err := proc.TryLockIn(dir, fileOf(q))
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			continue
		}
		if now, err := a.r.o.Board.Question(ctx, q.ID); err == nil && now.State == board.QuestionOpen && !a.spent(q) { // since it was listed
			return &q, free, nil
		}
		free()
	}
	return nil, nil, nil
}

// open opens the directory of the questions' files, as long as it is one: agents may write above it.
func (a *Answerer) open() (*os.Root, error) { return plaindir.Open(a.dir) }

// fileOf is the name of the lock of a question, which has a byte for each begun and for each failed try.
// Another board in the same place has the same numbers, but not the same times.
func fileOf(q board.Question) string { return fmt.Sprintf("%v-%d", q.ID, q.AskedAt.UnixMicro()) }

const (
	begunTry  = "1"
	failedTry = "x"
)

// spent reports whether a question is not tried any more.
func (a *Answerer) spent(q board.Question) bool {
	var text []byte
	if dir, err := a.open(); err == nil {
		text, _ = plaindir.Read(dir, fileOf(q), maxKept)
		dir.Close()
	}
	return strings.Count(string(text), failedTry) >= answerFailures || strings.Count(string(text), begunTry) >= answerTries
}

// notOpen is why a command is ended when somebody else was quicker.
type notOpen struct{ q board.Question }

func (e *notOpen) Error() string { return fmt.Sprintf("it is %s: %s", e.q.State, e.q.AnsweredBy) }

// forget removes the files of questions that are not open any more.
func (a *Answerer) forget(dir *os.Root, known []os.DirEntry, open []board.Question) {
	for _, e := range known {
		if e.Type().IsRegular() && !slices.ContainsFunc(open, func(q board.Question) bool { return fileOf(q) == e.Name() }) {
			_ = dir.Remove(e.Name())
		}
	}
}

// try puts a question to the command, and its output to the board as the answer. last is set if it is
// not tried again. That the runner ends, or is killed, is no failure of the command.
func (a *Answerer) try(ctx context.Context, q board.Question) (answer string, last bool, err error) {
	if err := a.note(q, begunTry); err != nil {
		return "", false, err
	}
	answer, err = a.answer(ctx, q)
	if _, closed := errors.AsType[*notOpen](err); err == nil || closed {
		a.drop(q)
		return answer, false, err
	}
	if ctx.Err() != nil {
		return "", false, err
	}
	failed := failedTry
	if errors.Is(err, board.ErrDenied) { // the next one would be refused, too
		failed = strings.Repeat(failedTry, answerFailures)
	}
	if noted := a.note(q, failed); !errors.Is(noted, fs.ErrNotExist) { // else it is not open any more
		err = errors.Join(err, noted)
	}
	return "", a.spent(q), err
}

// drop removes the file of a question that is not open any more.
func (a *Answerer) drop(q board.Question) {
	if dir, err := a.open(); err == nil {
		_ = dir.Remove(fileOf(q))
		dir.Close()
	}
}

// answer runs the command for a question, and gives its output to the board.
func (a *Answerer) answer(ctx context.Context, q board.Question) (string, error) {
	var about *board.Dossier
	if !q.Claim.IsZero() {
		d, err := a.r.o.Board.Get(ctx, q.Claim.Task, 0)
		if err != nil {
			return "", err
		}
		about = &d
	}
	input, err := a.quote(q, about)
	if err != nil {
		return "", err
	}
	answer, err := a.run(ctx, q, input)
	if err != nil {
		return "", err
	}
	answered, err := a.r.o.Board.Answer(ctx, a.seat.Actor, q.ID, answer)
	return answered.Answer, err
}

// note adds to the file of a question, which its lock has made.
func (a *Answerer) note(q board.Question, text string) error {
	root, err := a.open() // it is not left through a symbolic link
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := root.OpenFile(fileOf(q), os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// run runs the command, and returns its output. It is ended when somebody else has answered. All that
// passes between them goes through pipes: other agents can write among the temporary files.
func (a *Answerer) run(ctx context.Context, q board.Question, input []byte) (string, error) {
	cmd := exec.Command(a.command[0], a.command[1:]...)
	cmd.Dir, cmd.Env = a.r.o.Repo.Root, append(ownless(a.r.o.Environ), "BOSSMAN_ROOT="+a.r.o.Repo.Root, "PWD="+a.r.o.Repo.Root)
	var pipes [3][2]*os.File // its input, its output, and its complaints, each with the end to read first
	for n := range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			return "", err
		}
		defer r.Close()
		defer w.Close()
		pipes[n] = [2]*os.File{r, w}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0][0], pipes[1][1], pipes[2][1]
	m, err := a.r.mind(cmd)
	for _, f := range []*os.File{pipes[0][0], pipes[1][1], pipes[2][1]} {
		f.Close()
	}
	if err != nil {
		return "", err
	}
	go func() {
		_, _ = pipes[0][1].Write(input)
		pipes[0][1].Close()
	}()
	output := make(chan []byte, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(pipes[1][0], maxAnswer))
		output <- text
		_, _ = io.Copy(io.Discard, pipes[1][0])
	}()
	complaints := make(chan string, 1)
	go func() { complaints <- complaint(pipes[2][0]) }()
	why := a.watch(ctx, m, q)
	end := m.Wait()
	var text []byte
	var complaint string
	patience, cancel := context.WithTimeout(context.Background(), time.Second) // something that could not be ended may have the pipes
	defer cancel()
	for range 2 {
		select {
		case text = <-output:
		case complaint = <-complaints:
		case <-patience.Done():
		}
	}
	text = bytes.TrimSpace(text)
	switch {
	case why != nil:
		return "", why
	case end.Err != nil:
		return "", end.Err
	case end.Exit != 0:
		return "", fmt.Errorf("the command ended with exit status %d%s", end.Exit, complaint)
	case len(text) == 0:
		return "", fmt.Errorf("the command has given no answer%s", complaint)
	}
	return strings.ReplaceAll(strings.ToValidUTF8(string(text), "\uFFFD"), "\x00", "\uFFFD"), nil
}

// complaint reads what a command writes to its standard error, and returns the end of it.
func complaint(r io.Reader) string {
	var last []byte
	for buf := make([]byte, 4<<10); ; {
		n, err := r.Read(buf)
		last = append(last, buf[:n]...)
		last = last[max(0, len(last)-maxReason):]
		if err != nil {
			break
		}
	}
	if out := strings.TrimSpace(strings.ToValidUTF8(string(last), "\uFFFD")); out != "" {
		return ": " + out
	}
	return ""
}

// watch waits until a command has ended, and ends it when it takes too long, when the question is no
// longer open, or when the runner ends: then it returns why.
func (a *Answerer) watch(ctx context.Context, m *proc.Minded, q board.Question) (why error) {
	limit := a.r.o.Limits.Job
	if limit == 0 {
		limit = answerTime
	}
	over := time.NewTimer(limit)
	defer over.Stop()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-m.Done():
			return nil
		case <-ctx.Done():
			why = errEnded
		case <-over.C:
			why = fmt.Errorf("the command took longer than %v", limit)
		case <-tick.C:
			now, err := a.r.o.Board.Question(ctx, q.ID)
			if err != nil || now.State == board.QuestionOpen {
				continue
			}
			why = &notOpen{now}
		}
		m.End()
		return why
	}
}
