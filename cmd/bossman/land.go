package main

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/github"
	"github.com/bossman-dev/bossman/internal/landcli"
	"github.com/bossman-dev/bossman/land"
)

// yard opens the board and the repository for bossman land.
func (a *app) yard(ctx context.Context) (*landcli.Yard, error) {
	o, slug, err := a.openProject(ctx)
	if err != nil {
		return nil, err
	}
	dir, repo, err := o.repository()
	if err != nil {
		return nil, err
	}
	runner := newCheckRunner(a.Getenv)
	y := &landcli.Yard{Board: o, Person: a.actor(), Run: o.Run, Close: runner.Close}
	y.Options, y.Said, err = o.lander(ctx, a.actor(), slug, dir, repo, runner)
	return y, err
}

// lander returns the options of a lander in a directory. If the project does not land its work yet, it
// does from now on, on the branch that is checked out: said says so.
func (o *openBoard) lander(ctx context.Context, by board.Actor, slug, dir string, repo *git.Repo, runner *check.Runner) (l land.Options, said string, err error) {
	p, err := o.Project(ctx, slug)
	if err != nil {
		return l, "", err
	}
	if p.Land == "" {
		if o.store == nil {
			return l, "", console.Errorf(console.Conflict, "bossman project set --land BRANCH", "%s does not land its work, and on a server that is not decided by who lands first", slug)
		}
		if p.Land, err = landcli.CheckedOut(repo); err == nil {
			err = landcli.Usable(ctx, repo, p.Land)
		}
		if err == nil {
			err = o.SetLand(ctx, by, slug, p.Land)
		}
		if err != nil {
			return l, "", err
		}
		said = fmt.Sprintf("The accepted work of %s lands on %s from now on. To end that: bossman project set --land off", slug, p.Land)
	}
	target, err := board.ParseTarget(p.Land)
	if err != nil {
		return l, "", err
	}
	caller := o.agent(auth.Worker)
	if o.store != nil {
		o.store.Attend(caller.Owner)
		caller.Name = "bossman land" // in the history; a server takes the name of the key
	}
	host, _ := os.Hostname()
	s := o.settings.Land
	return land.Options{
		Board: o, Actor: caller.Actor, Project: slug, Target: target, Repo: repo, Runner: runner, Accept: o.accepts(dir),
		Host: host, By: by, Holder: fmt.Sprintf("bossman on %s (process %d)", cmp.Or(host, "this machine"), os.Getpid()),
		Check: func() (*check.Check, error) {
			c, why, err := checkInForce(o.settings.CheckAt, dir)
			if err == nil && why != "" {
				err = console.Errorf(console.Conflict, "bossman trust", "nothing lands, because the project's check was not accepted: %s", why)
			}
			return c, err
		},
		Setup: func() ([]string, []string, error) {
			command, when, _, err := o.settings.SetupAt(dir)
			return command, when, err
		},
		Pulls: github.CLI{Repo: repo.Remote()}, Issues: github.CLI{Repo: repo.Remote(), Close: s.CloseIssues},
		Style: git.Style(s.Style), Batch: s.Batch, Leave: s.Leaves(), Withhold: o.settings.Review.NoDiff,
	}, said, nil
}

// usableTarget returns an error if work cannot land on a target. Without a repository that is not known.
func (o *openBoard) usableTarget(ctx context.Context, target string) error {
	_, repo, err := o.repository()
	if err != nil {
		return nil
	}
	return landcli.Usable(ctx, repo, target)
}

// accepts returns what says whether a person has accepted a command of the repository's own configuration.
func (o *openBoard) accepts(dir string) func(command string) bool {
	return func(command string) bool {
		s, err := o.settings.CheckAt(dir)
		return err == nil && s.Trust.Accepts(command)
	}
}

// office opens the board for the commands of landing that need no repository.
func (a *app) office(ctx context.Context) (*landcli.Office, error) {
	o, slug, err := a.openProject(ctx)
	if err != nil {
		return nil, err
	}
	return &landcli.Office{Board: o, Project: slug, Actor: a.actor(), ParseID: o.parseTask}, nil
}
