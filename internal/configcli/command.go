// Package configcli is bossman config, which shows the configuration and what the board
// enforces, and bossman trust, with which people accept what a repository brings.
package configcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// cli is the command on a console.
type cli struct {
	*console.Console
	load    func() (*config.Settings, error)
	project func(ctx context.Context) (*board.Project, error)
}

// Command returns bossman config. load reads the settings; project reads the project from
// the board, and returns nil if there is none yet.
func Command(out *console.Console, load func() (*config.Settings, error), project func(ctx context.Context) (*board.Project, error)) *cobra.Command {
	c := &cli{out, load, project}
	cmd := &cobra.Command{
		Use: "config", Short: "Show the configuration",
	}
	cmd.AddCommand(c.show())
	return cmd
}

func (c *cli) show() *cobra.Command {
	var origin bool
	cmd := &cobra.Command{
		Use: "show", Short: "Show the configuration, and what the board enforces", Args: cobra.NoArgs,
		Long: `Show prints every value in effect. Precedence: flags, then environment variables
(BOSSMAN_BOARD, BOSSMAN_DB, BOSSMAN_PROJECT, BOSSMAN_POLICY, BOSSMAN_AREAS,
BOSSMAN_SKILLS, BOSSMAN_LEASE), then .bossman/config.toml in the project, then your own
file, $XDG_CONFIG_HOME/bossman/config.toml.

The board keeps policy, skills and lease of the project itself, from its first task on:
its values are in effect, whatever is configured, until bossman project set. Only the board
has where work is landed (land) and how long finished tasks are kept (keep). The check is
the one that you have accepted with bossman trust.

A project's file may set board, project, policy, areas, skills and lease, [land] and [review];
and it may lower the sums of [budget]. A key that runs a command, such as notify, is read from your own file only.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.load()
			if err != nil {
				return err
			}
			v := view{settings: s}
			v.location, err = s.Location()
			v.none, _ = errors.AsType[*config.NoBoardError](err)
			if v.none == nil {
				if v.project, err = c.project(cmd.Context()); err != nil {
					v.notes = append(v.notes, fmt.Sprintf("the board cannot be read, so this is only what is configured: %v", err))
				}
			}
			v.build()
			if c.JSON {
				return c.PrintJSON(v.json())
			}
			c.print(&v, origin)
			return nil
		},
	}
	cmd.Flags().BoolVar(&origin, "origin", false, "show where each value came from")
	return cmd
}

// originBoard is the origin of what the board enforces, and originDefault of what nobody has set.
const originBoard, originDefault = "the board", "default"

// A view is what is shown.
type view struct {
	settings *config.Settings
	location config.Location
	none     *config.NoBoardError
	project  *board.Project // nil if there is none yet
	rows     []row
	notes    []string
}

// A row is a setting. Configured is what is configured if the board enforces another value.
type row struct {
	name, origin string
	value        any
	configured   *valueJSON
}

// build finds the rows and the notes.
func (v *view) build() {
	s := v.settings
	for _, text := range s.Ignored {
		v.notes = append(v.notes, "ignored: "+text)
	}
	for _, k := range config.Keys() {
		r := row{name: k.Name, value: k.Value(s), origin: s.Origin[k.Name]}
		if value, ok := v.enforced(k.Name); ok {
			if s.IsSet(k.Name) && shown(value) != shown(r.value) {
				r.configured = &valueJSON{Value: r.value, Origin: r.origin}
				v.notes = append(v.notes, fmt.Sprintf("%s %s of %s is not in effect: the board has %s. To apply it: bossman project set",
					k.Name, name(r.value), r.origin, name(value)))
			}
			r.value, r.origin = value, originBoard
			if k.Name == "lease" && v.project.Lease == 0 {
				r.origin = originDefault
			}
		}
		v.rows = append(v.rows, r)
	}
	check, err := s.Check()
	if err = cmp.Or(err, check.Unseen); err != nil {
		v.notes = append(v.notes, fmt.Sprintf("the check cannot be read: %v", err))
	}
	if check.Proposed != nil {
		v.notes = append(v.notes, fmt.Sprintf("the check of %s is not in effect. To read and accept it: bossman trust", check.File))
	}
	if text, origin := s.ShownCheck(); text != "" {
		v.rows = append(v.rows, row{name: "check", value: text, origin: origin})
	}
	lands := false
	if p := v.project; p != nil {
		if lands = p.Land != ""; lands {
			v.rows = append(v.rows, row{name: "land", value: p.Land, origin: originBoard})
		} else {
			v.rows = append(v.rows, row{name: "land", value: "off", origin: originDefault})
		}
		if p.Keep > 0 {
			v.rows = append(v.rows, row{name: "keep", value: console.Age(p.Keep).String(), origin: originBoard})
		}
	}
	for _, r := range []row{
		{name: "budget.task", value: s.Budget.Task},
		{name: "budget.day", value: s.Budget.Day},
		{name: "land.style", value: s.Land.Style},
		{name: "land.batch", value: s.Land.Batch},
		{name: "land.close_issues", value: s.Land.CloseIssues},
		{name: "land.checkout", value: s.Land.Checkout},
		{name: "review.diff", value: !s.Review.NoDiff},
	} {
		r.origin = s.Origin[r.name]
		if lands && strings.HasPrefix(r.name, "land.") {
			r.origin = cmp.Or(r.origin, originDefault)
		}
		if r.origin != "" {
			v.rows = append(v.rows, r)
		}
	}
	if check.NewSetup != nil {
		v.notes = append(v.notes, fmt.Sprintf("the setup of %s is not in effect. To read and accept it: bossman trust", check.File))
	}
	if check.Trust != nil && check.Trust.Setup != nil {
		v.rows = append(v.rows, row{name: "setup", value: strings.Join(check.Trust.Setup.Lines(), ", "), origin: "accepted by " + check.Trust.By})
	}
	if v.project != nil && v.project.PausedBy != "" {
		v.rows = append(v.rows, row{name: "paused_by", value: v.project.PausedBy, origin: originBoard})
	}
	if v.project != nil && v.project.Archived {
		v.rows = append(v.rows, row{name: "archived", value: true, origin: originBoard})
	}
	if v.none != nil {
		v.notes = append(v.notes, v.none.Error())
	}
}

// enforced returns the board's own value of a key.
func (v *view) enforced(key string) (any, bool) {
	p := v.project
	if p == nil {
		return nil, false
	}
	switch key {
	case "project":
		return p.Slug, true
	case "policy":
		return string(p.Policy), true
	case "skills":
		return p.Skills, true
	case "lease":
		return cmp.Or(p.Lease, board.DefaultLease).String(), true
	}
	return nil, false
}

func (c *cli) print(v *view, origin bool) {
	var rows []console.Row
	add := func(name, value, from string) {
		if !origin {
			from = ""
		}
		rows = append(rows, console.Row{console.Cyan.Cell(name), console.Text(value), console.Dim.Cell(from)})
	}
	for _, r := range v.rows {
		add(r.name, shown(r.value), r.origin)
	}
	where := v.location.Path
	if v.none != nil {
		where = "(none)"
	}
	add("file", where, v.location.By)
	c.Table("", []console.Column{{Head: "KEY"}, {Head: "VALUE"}, {Head: map[bool]string{true: "ORIGIN"}[origin]}}, rows)
	for _, text := range v.notes {
		c.Infof("%s", text)
	}
}

func shown(v any) string {
	if list, ok := v.([]string); ok {
		return strings.Join(list, " ")
	}
	return fmt.Sprint(v)
}

// name is a value in a sentence.
func name(v any) string {
	if s := shown(v); s != "" {
		return fmt.Sprintf("%q", s)
	}
	return "none"
}

type valueJSON struct {
	Value  any    `json:"value"`
	Origin string `json:"origin"`
}

type rowJSON struct {
	valueJSON

	Configured *valueJSON `json:"configured,omitzero"`
}

type viewJSON struct {
	Values  map[string]rowJSON `json:"values"`
	File    string             `json:"file"`
	From    string             `json:"from"`
	By      string             `json:"by"`
	Ignored []string           `json:"ignored"`
}

func (v *view) json() viewJSON {
	p := v.location
	out := viewJSON{Values: map[string]rowJSON{}, File: p.Path, From: p.From, By: p.By, Ignored: v.settings.Ignored}
	if v.none != nil {
		out.From, out.By = v.none.From, v.none.By
	}
	for _, r := range v.rows {
		out.Values[r.name] = rowJSON{valueJSON{r.value, r.origin}, r.configured}
	}
	return out
}
