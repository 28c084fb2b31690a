package land

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
)

// maxCommits is how many commits a message names.
const maxCommits = 5

// lookAround reports that somebody else has moved the target since a lander last looked, and with which commits. A
// lander that goes on by itself also notes it for people.
func (l *Lander) lookAround(ctx context.Context, tip string) error {
	from := l.lastSeen()
	if from == tip {
		return nil
	}
	last, err := l.o.Board.Intents(ctx, board.IntentFilter{Project: l.o.Project, Target: l.o.Target.String(), State: board.IntentLanded, Limit: 1})
	if err != nil {
		return err
	}
	for _, intent := range last {
		if intent.New == tip { // noted before its lander was killed, or put back
			l.see(tip)
			return nil
		}
		if _, err := l.o.Repo.Commit(ctx, intent.New); err == nil {
			newer := from == ""
			if !newer {
				if newer, err = l.target.contains(ctx, intent.New, from); err != nil {
					return err
				}
			}
			if newer {
				from = intent.New
			}
		}
	}
	_, err = l.o.Repo.Commit(ctx, from)
	if from == "" || err != nil && l.o.Target.Kind == board.TargetLocal { // that is the branch of another clone
		l.see(tip)
		return nil
	}
	text, err := l.moved(ctx, from, tip)
	if err != nil {
		return err
	}
	l.o.Report(Event{Kind: Moved, Commit: tip, Text: text})
	l.see(tip)
	if l.o.Watch { // else a person has just read it
		l.mu.Lock()
		l.note.Moved = text
		l.mu.Unlock()
	}
	return l.tell(ctx, "")
}

// moved says how the target was moved.
func (l *Lander) moved(ctx context.Context, from, to string) (string, error) {
	text := fmt.Sprintf("%s was moved from %s to %s by somebody else", l.o.Target, git.Short(from), git.Short(to))
	if _, err := l.o.Repo.Commit(ctx, from); err != nil {
		return text + "; the former is not in this clone", nil
	}
	for _, way := range []struct{ notIn, in, what string }{{from, to, "new"}, {to, from, "gone"}} {
		log, err := l.o.Repo.Log(ctx, way.notIn, way.in, taskTrailer)
		if err != nil {
			return "", err
		}
		if len(log) > 0 {
			text += fmt.Sprintf("; %s: %s", way.what, commits(log))
		}
	}
	return text, nil
}

// commits names the newest of some commits.
func commits(log []git.Logged) string {
	var names []string
	for _, c := range log[:min(len(log), maxCommits)] {
		name := fmt.Sprintf("%s %.100q", git.Short(c.Commit), visible.Line(c.Subject))
		for _, task := range c.Values[:min(len(c.Values), 1)] {
			if id, err := board.ParseID(task); err == nil {
				name += fmt.Sprintf(" (%v)", id)
			}
		}
		names = append(names, name)
	}
	if n := len(log) - maxCommits; n > 0 {
		names = append(names, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, ", ")
}

// see notes the commit that the target has.
func (l *Lander) see(tip string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note.Seen = tip
}

// lastSeen is the commit that the target had when a lander last looked.
func (l *Lander) lastSeen() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.note.Seen
}

// recall reports what the note still has of an earlier lander about the target, once.
func (l *Lander) recall() {
	l.mu.Lock()
	text := l.note.Moved
	if text != "" {
		text = fmt.Sprintf("%s said: %q", l.note.MovedBy.Lander(strconv.Quote), text)
	}
	if l.recalled {
		text = ""
	} else {
		l.recalled, l.note.Moved = true, ""
	}
	l.mu.Unlock()
	if text != "" {
		l.o.Report(Event{Kind: Moved, Text: text})
	}
}
