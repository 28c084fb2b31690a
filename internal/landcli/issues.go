package landcli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/github"
	"github.com/bossman-dev/bossman/land"
)

// An IssueBoard is what the import of issues needs of a board.
type IssueBoard interface {
	Project(ctx context.Context, slug string) (board.Project, error)
	CreatePlan(ctx context.Context, a board.Actor, p board.Plan) (board.Planned, error)
	Untold(ctx context.Context, slug string) ([]board.Issue, error)
	Told(ctx context.Context, a board.Actor, i board.Issue) error
}

// maxTogether and maxTexts bound what is created at once, in tasks and in bytes: a server takes messages of 1 MiB.
const maxTogether, maxTexts = 100, 200 << 10

// issueImport is what became of an import of issues.
type issueImport struct {
	Project  string `json:"project"`
	Repo     string `json:"repo"`
	Imported int    `json:"imported"`
	Known    int    `json:"known"`
	// Tasks are by the addresses of the issues.
	Tasks map[string]string `json:"tasks"`
	Told  []string          `json:"told"`
	made  []board.PlannedTask
}

// ImportIssues makes drafts of the open issues of a repository, each once. In a project that does not land its work
// it also tells issues that their tasks are done.
func ImportIssues(ctx context.Context, out *console.Console, b IssueBoard, by board.Actor, slug string, tracker github.CLI, labels []string) error {
	if !github.ValidRepo(tracker.Repo) {
		return console.Errorf(console.Usage, "bossman task import --from github OWNER/REPO", "it is not known whose issues are meant: %.100q is no repository at GitHub", tracker.Repo)
	}
	p, err := b.Project(ctx, slug)
	if err != nil {
		return err
	}
	issues, err := tracker.Issues(ctx, labels)
	if err != nil {
		return asked(err)
	}
	done := issueImport{Project: slug, Repo: tracker.Repo, Tasks: map[string]string{}, Told: []string{}}
	var part []board.PlanTask
	size := 0
	for n, i := range issues {
		t := i.Task()
		part = append(part, t)
		size += len(t.Title) + len(t.Description)
		if n < len(issues)-1 && size < maxTexts && len(part) < maxTogether {
			continue
		}
		if err := done.create(ctx, b, by, part); err != nil {
			return err
		}
		part, size = nil, 0
	}
	var failed error
	if p.Land == "" { // else the lander does
		failed = done.tell(ctx, b, by, tracker)
	}
	done.print(out, labels, len(issues) == github.MaxIssues)
	return asked(failed)
}

// create makes tasks of some issues.
func (d *issueImport) create(ctx context.Context, b IssueBoard, by board.Actor, part []board.PlanTask) error {
	made, err := b.CreatePlan(ctx, by, board.Plan{Project: d.Project, Tasks: part, Hold: true})
	if err != nil {
		return err
	}
	for n, t := range made.Tasks {
		d.Tasks[part[n].Item] = t.ID.String()
		if t.Existed {
			d.Known++
			continue
		}
		d.Imported++
		d.made = append(d.made, t)
	}
	return nil
}

// tell tells the issues of the repository that are due.
func (d *issueImport) tell(ctx context.Context, b IssueBoard, by board.Actor, tracker github.CLI) error {
	due, err := b.Untold(ctx, d.Project)
	if err != nil {
		return err
	}
	for _, i := range due {
		if !tracker.Has(i.URL) {
			continue
		}
		if err := tracker.Tell(ctx, i); err != nil {
			return fmt.Errorf("%s could not be told that %v is done, which is tried again by the next import: %w", i.URL, i.Task, err)
		}
		if err := b.Told(ctx, by, i); err != nil {
			return err
		}
		d.Told = append(d.Told, i.URL)
	}
	return nil
}

// asked is an error of gh as one of the command line; others stay as they are.
func asked(err error) error {
	if _, ok := errors.AsType[*land.PullError](err); !ok {
		return err
	}
	return console.Errorf(console.Unavailable, "gh auth status tells whether gh is logged in; repeat the command when it is", "%w", err)
}

func (d *issueImport) print(out *console.Console, labels []string, more bool) {
	if out.JSON {
		_ = out.PrintJSON(d)
		return
	}
	rows := make([]console.Row, len(d.made))
	for n, t := range d.made {
		rows[n] = console.Row{console.Cyan.Cell(t.ID.String()), console.Text("#" + t.Key), console.Text(t.Title)}
	}
	out.Table("", []console.Column{{}, {}, {Flex: true}}, rows)
	with := ""
	if len(labels) > 0 {
		with = fmt.Sprintf(" with the label %.100q", strings.Join(labels, ", "))
	}
	switch {
	case d.Imported > 0:
		out.Linef("%s imported from %s, %d there already. They are drafts in the words of others: read one, then start it with bossman task start ID", console.Count(d.Imported, "issue"), d.Repo, d.Known)
	case d.Known > 0:
		out.Linef("Nothing was imported from %s: %s, all there already.", d.Repo, console.Count(d.Known, "open issue"))
	default:
		out.Linef("%s has no open issues%s.", d.Repo, with)
	}
	if more {
		out.Linef("These are the newest %d. For others, name a label: --label", github.MaxIssues)
	}
	for _, url := range slices.Sorted(slices.Values(d.Told)) {
		out.Linef("Told that its task is done: %s", url)
	}
}
