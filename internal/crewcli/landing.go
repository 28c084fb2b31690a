package crewcli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/land"
)

// landing prepares a lander beside a crew, and returns what runs it until its context ends. The crew's
// work then begins from the target.
func landing(ctx context.Context, out *console.Console, shop *Shop, o *crew.Options, show *display) (func(context.Context), error) {
	lo, said, err := shop.Lander(ctx)
	if err != nil {
		return nil, err
	}
	if said != "" {
		out.Infof("%s", said)
	}
	lo.Watch = true
	lo.Report, show.lands = show.landed, true
	l := land.New(&lo)
	o.Target = lo.Target
	o.Onto = land.NewSource(lo.Board, lo.Project, lo.Repo, lo.Target, lo.Accept)
	o.ToLand = func(ctx context.Context) (int, error) {
		line, err := lo.Board.Line(ctx, lo.Project)
		if left := l.Waiting(); left >= 0 {
			return max(0, len(line.Queue)-left), err
		}
		return len(line.Queue), err
	}
	return func(ctx context.Context) {
		for ctx.Err() == nil {
			if err := l.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				show.line("land", "", console.Red, fmt.Sprintf("%v; next try in %v", err, landPause))
				board.WaitFor(ctx, nil, landPause)
			}
		}
	}, nil
}

// landPause is the pause after an error of a lander.
const landPause = 30 * time.Second

// landed shows what a lander has done.
func (d *display) landed(e land.Event) {
	line, style := e.Text, console.Yellow
	switch e.Kind {
	case land.Landed:
		d.seenTo(e.Task, crew.Done)
	case land.Conflict, land.Red, land.Closed:
		d.seenTo(e.Task, crew.SentBack)
	}
	switch e.Kind {
	case land.Checking:
		return
	case land.Landed:
		line, style = fmt.Sprintf("%v landed as %s: %s", e.Task, git.Short(e.Commit), e.Title), console.Green
	case land.Conflict:
		line = fmt.Sprintf("%v goes back to its task, because of a conflict in %s", e.Task, e.Text)
	case land.Red:
		line, style = fmt.Sprintf("%v goes back to its task, because the check refuses it: %s", e.Task, e.Text), console.Red
	case land.Closed:
		line = fmt.Sprintf("%v goes back to its task, because its pull request was closed: %s", e.Task, e.Text)
	case land.Told:
		line, style = fmt.Sprintf("%v told its issue that it is done: %s", e.Task, e.Text), console.Green
	case land.Untold:
		line = fmt.Sprintf("%v: %s", e.Task, e.Text)
	case land.Stopped:
		line, style = "nothing lands: "+e.Text, console.Red
	case land.Moved:
		style = console.Red
	case land.Waits:
		if !e.Task.IsZero() {
			line = fmt.Sprintf("%v waits to be landed: %s", e.Task, e.Text)
		}
	}
	d.line("land", "", style, line)
	d.draw()
}
