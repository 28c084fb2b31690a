package landcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/boardtext"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/spf13/cobra"
)

// shown is how many of the last moves of the target are shown.
const shown = 5

// status returns bossman land status.
func status(out *console.Console, open func(ctx context.Context) (*Office, error)) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show what waits to be landed, and why", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := open(cmd.Context())
			if err != nil {
				return err
			}
			p, err := o.Board.Project(cmd.Context(), o.Project)
			if err != nil {
				return err
			}
			line, err := o.Board.Line(cmd.Context(), o.Project)
			if err != nil {
				return err
			}
			last, err := o.Board.Intents(cmd.Context(), board.IntentFilter{Project: o.Project, State: board.IntentLanded, Limit: shown})
			if err != nil {
				return err
			}
			s := state{p, line, last, map[board.ID]string{}}
			for _, i := range last {
				if err := s.own(cmd.Context(), o.Board, i); err != nil {
					return err
				}
			}
			if out.JSON {
				return out.PrintJSON(s.json())
			}
			s.print(out)
			return nil
		},
	}
}

// A state is what bossman land status shows.
type state struct {
	project board.Project
	line    board.Line
	last    []board.Intent
	commits map[board.ID]string // with which the tasks of last have landed, if that is not the commit of the move
}

// own notes with which commit of a move each of its tasks has landed.
func (s state) own(ctx context.Context, b Board, i board.Intent) error {
	if len(i.Items) < 2 {
		return nil
	}
	for _, item := range i.Items {
		d, err := b.Get(ctx, item.Task, 0)
		switch {
		case errors.Is(err, board.ErrNotFound): // it was archived meanwhile
		case err != nil:
			return err
		case d.Task.Attempt == item.Attempt && d.Doc.Result != nil:
			s.commits[item.Task] = d.Doc.Result.Landed
		}
	}
	return nil
}

// lives reports whether a lander is at work.
func (s state) lives() bool { return s.line.Lander.Until.After(s.line.Now) }

// note is what the lander tells, or told last.
func (s state) note() board.LandNote {
	if s.line.Lander.Note == nil {
		return board.LandNote{}
	}
	return *s.line.Lander.Note
}

// moving reports whether a task is being landed.
func (s state) moving(id board.ID) bool {
	i := s.line.Open
	return i != nil && slices.ContainsFunc(i.Items, func(item board.Item) bool { return item.Task == id })
}

// why is what a lander says why a task of the queue does not land now; zero if it does.
func (s state) why(id board.ID) board.LandWait {
	waits := s.note().Waits
	if i := slices.IndexFunc(waits, func(w board.LandWait) bool { return w.Task == id }); i >= 0 && !s.moving(id) {
		return waits[i]
	}
	return board.LandWait{}
}

func (s state) print(out *console.Console) {
	if s.project.Land == "" {
		out.Linef("%s does not land its work: it is done when it is accepted. To land it: bossman project set --land BRANCH", s.project.Slug)
		return
	}
	out.Linef("%s lands on %s.", s.project.Slug, s.project.Land)
	note := s.note()
	switch {
	case s.lives():
		out.Field("", console.Text("At work:"), console.Text(fmt.Sprintf("%s, %q", boardtext.Lander(s.line.Lander.Author()), console.OneLine(s.line.Lander.Holder))))
		if note.Doing != "" && note.Author == note.Leader {
			out.Quoted("  ", note.Doing)
		}
	case len(s.line.Queue) > 0:
		out.Linef("Nobody lands now: bossman land")
	}
	if note.Stopped != "" && len(s.line.Queue) > 0 {
		say(out, console.Red.Cell("Nothing lands"), note.StoppedBy, note.Stopped)
	}
	if note.Moved != "" {
		say(out, console.Yellow.Cell("Moved without Bossman"), note.MovedBy, note.Moved)
	}
	out.Linef("")
	if len(s.line.Queue) == 0 {
		out.Linef("Nothing waits to be landed.")
	}
	rows := make([]console.Row, len(s.line.Queue))
	for i, q := range s.line.Queue {
		rows[i] = console.Row{console.Text(fmt.Sprint(i + 1)), console.Cyan.Cell(q.Task.ID.String()), boardtext.PriorityStyle(q.Task.Priority).Cell(q.Task.Priority.String()), console.Text(q.Task.Title), console.Dim.Cell(git.Short(q.Tip.Commit))}
	}
	out.Table("  ", []console.Column{{Right: true}, {}, {Drop: 2}, {Flex: true}, {Drop: 1}}, rows)
	for _, q := range s.line.Queue {
		if s.moving(q.Task.ID) {
			out.Field("", console.Cyan.Cell(q.Task.ID.String()), console.Text("is being landed"))
		} else if w := s.why(q.Task.ID); w.Why != "" {
			say(out, console.Cyan.Cell(q.Task.ID.String()+" waits"), w.Author, w.Why)
		}
	}
	for _, r := range note.Reworks {
		say(out, console.Cyan.Cell(r.Task.String()+" is worked on or reviewed again after a conflict"), r.Author, visible.Paths(r.Files))
	}
	for _, w := range note.Untold {
		say(out, console.Cyan.Cell(w.Task.String()+" is done"), w.Author, w.Why)
	}
	if len(s.last) == 0 {
		return
	}
	out.Linef("")
	out.Linef("Landed last:")
	rows = rows[:0]
	for _, i := range s.last {
		for _, item := range i.Items {
			rows = append(rows, console.Row{console.Cyan.Cell(item.Task.String()), console.Text(git.Short(cmp.Or(s.commits[item.Task], i.New))), console.Dim.Cell(boardtext.Ago(s.line.Now, i.EndedAt))})
		}
	}
	out.Table("  ", []console.Column{{}, {}, {}}, rows)
}

// say writes what a lander says, quoted behind what it is about and whose lander that is.
func say(out *console.Console, about console.Cell, by board.Author, text string) {
	about.Text += ", says"
	out.Field("", about, console.Text(boardtext.Lander(by)+":"))
	out.Quoted("  ", text)
}

// stateJSON is what bossman land status --json prints.
type stateJSON struct {
	Project string       `json:"project"`
	Target  string       `json:"target"`
	Lander  *landerJSON  `json:"lander,omitzero"`
	Stopped string       `json:"stopped,omitzero"`
	StopBy  *authorJSON  `json:"stopped_by,omitzero"`
	Moved   string       `json:"moved,omitzero"`
	MoveBy  *authorJSON  `json:"moved_by,omitzero"`
	Queue   []queuedJSON `json:"queue"`
	Reworks []reworkJSON `json:"reworks"`
	Landed  []moveJSON   `json:"landed"`
	Untold  []untoldJSON `json:"untold"`
}

// authorJSON is whose lander has written a text. It is left out where that is not known.
type authorJSON struct {
	Name string `json:"name"`
	As   string `json:"as,omitzero"` // person or agent
}

func newAuthor(a board.Author) *authorJSON {
	if a.By == "" {
		return nil
	}
	return &authorJSON{a.By, string(a.As)}
}

type landerJSON struct {
	Holder string      `json:"holder"`
	By     *authorJSON `json:"by,omitzero"`
	Doing  string      `json:"doing,omitzero"`
	Until  time.Time   `json:"until"`
}

type queuedJSON struct {
	Task     string `json:"task"`
	Title    string `json:"title"`
	Priority string `json:"priority"`
	Attempt  int    `json:"attempt"`
	Commit   string `json:"commit"`
	Waits    string `json:"waits,omitzero"`

	WaitsBy *authorJSON `json:"waits_by,omitzero"`
}

type reworkJSON struct {
	Task  string      `json:"task"`
	Files []string    `json:"files"`
	By    *authorJSON `json:"by,omitzero"`
}

type untoldJSON struct {
	Task string      `json:"task"`
	Why  string      `json:"why"`
	By   *authorJSON `json:"by,omitzero"`
}

type moveJSON struct {
	From  string    `json:"from,omitzero"`
	To    string    `json:"to"`
	Tasks []string  `json:"tasks"`
	At    time.Time `json:"at"`
}

func (s state) json() stateJSON {
	note := s.note()
	out := stateJSON{Project: s.project.Slug, Target: s.project.Land, Moved: note.Moved, MoveBy: newAuthor(note.MovedBy), Queue: []queuedJSON{}, Reworks: []reworkJSON{}, Landed: []moveJSON{}, Untold: []untoldJSON{}}
	if len(s.line.Queue) > 0 {
		out.Stopped, out.StopBy = note.Stopped, newAuthor(note.StoppedBy)
	}
	if s.lives() {
		out.Lander = &landerJSON{Holder: s.line.Lander.Holder, By: newAuthor(s.line.Lander.Author()), Until: s.line.Lander.Until.UTC()}
		if note.Author == note.Leader {
			out.Lander.Doing = note.Doing
		}
	}
	for _, q := range s.line.Queue {
		w := s.why(q.Task.ID)
		if s.moving(q.Task.ID) {
			w.Why = "is being landed"
		}
		out.Queue = append(out.Queue, queuedJSON{q.Task.ID.String(), q.Task.Title, q.Task.Priority.String(), q.Task.Attempt, q.Tip.Commit, w.Why, newAuthor(w.Author)})
	}
	for _, r := range note.Reworks {
		out.Reworks = append(out.Reworks, reworkJSON{r.Task.String(), r.Files, newAuthor(r.Author)})
	}
	for _, w := range note.Untold {
		out.Untold = append(out.Untold, untoldJSON{w.Task.String(), w.Why, newAuthor(w.Author)})
	}
	for _, i := range s.last {
		m := moveJSON{From: i.Old, To: i.New, At: i.EndedAt.UTC()}
		for _, item := range i.Items {
			m.Tasks = append(m.Tasks, item.Task.String())
		}
		out.Landed = append(out.Landed, m)
	}
	return out
}
