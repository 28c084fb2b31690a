package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/boardtext"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

func (a *app) projectCommand() *cobra.Command {
	return group("project", "Create, list and change projects", a.projectCreate(), a.projectList(), a.projectSet())
}

// projectFlags are the flags of bossman project create and set.
type projectFlags struct {
	name, policy string
	lease        time.Duration
	skills       []string
	keep         console.Age
	archived     bool
	land         string
}

func (f *projectFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "name", "", "long name")
	cmd.Flags().StringVar(&f.policy, "policy", "", "when a reported task counts as done: evidence, trust, review or person (docs/policies.md)")
	cmd.Flags().DurationVar(&f.lease, "lease", 0, "how long a claim lasts without renewal, such as 15m")
	cmd.Flags().StringSliceVar(&f.skills, "skill", nil, "a skill that tasks may require; repeatable or comma-separated")
	cmd.Flags().Var(&f.keep, "keep", "how long finished tasks stay before bossman task archive moves them, such as 180d; 0s: for ever")
}

func (f *projectFlags) apply(cmd *cobra.Command, p *board.Project) (changed bool) {
	set := func(flag string, do func()) {
		if cmd.Flags().Changed(flag) {
			do()
			changed = true
		}
	}
	set("name", func() { p.Name = f.name })
	set("policy", func() { p.Policy = board.Policy(f.policy) })
	set("lease", func() { p.Lease = f.lease })
	set("skill", func() { p.Skills = board.SplitList(f.skills...) })
	set("keep", func() { p.Keep = time.Duration(f.keep) })
	if cmd.Flags().Lookup("archived") != nil {
		set("archived", func() { p.Archived = f.archived })
	}
	return changed
}

func (a *app) projectCreate() *cobra.Command {
	var f projectFlags
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create a project", Args: cobra.ExactArgs(1),
		Long: `Create creates a project. Its name is the prefix of its tasks' ids: a lower-case letter,
then at most 15 letters and digits. A board in a file has one project, which the first
task creates; run this before it to choose another name.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if !board.ValidSlug(args[0]) {
				return console.Usagef("%q cannot be a project's name: a lower-case letter, then at most 15 letters and digits", args[0])
			}
			if a.flags.Project == "" {
				a.flags.Project = args[0] // the home project of a board in a file
			}
			o, err := a.open(ctx)
			if err != nil {
				return err
			}
			if i := slices.IndexFunc(o.projects, func(p board.Project) bool { return p.Slug == args[0] }); i >= 0 {
				return console.Errorf(console.Conflict, "to change it: bossman project set "+args[0], "the project %s already exists", args[0])
			}
			p := board.Project{Slug: args[0], Name: args[0], Policy: board.PolicyEvidence}
			if !o.server {
				p = *o.settings.HomeProject(args[0])
			}
			f.apply(cmd, &p)
			return a.putProject(ctx, o, p, "%s is created. Its tasks will be %s-1, %s-2, …")
		},
	}
	f.register(cmd)
	return cmd
}

func (a *app) projectSet() *cobra.Command {
	var f projectFlags
	cmd := &cobra.Command{
		Use: "set [NAME]", Short: "Change a project", Args: cobra.MaximumNArgs(1),
		Long: `Set changes a project. Without flags it applies the configuration (policy, lease,
skills): an existing board follows a change of .bossman/config.toml only when
you run this command, so that a branch cannot change the rules.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			o, err := a.open(ctx)
			if err != nil {
				return err
			}
			slug := ""
			if len(args) == 1 {
				slug = args[0]
			} else if slug, err = o.requireProject(); err != nil {
				return err
			}
			p, err := o.Project(ctx, slug)
			if err != nil {
				return notFound(err, "project "+slug)
			}
			lands := cmd.Flags().Changed("land")
			switch changed := f.apply(cmd, &p); {
			case changed || lands:
			case o.settings.Broken != nil:
				return o.settings.Broken
			case !applySettings(o.settings, &p):
				return console.Usagef("nothing to change: use --policy, --lease, --skill, --name, --keep, --land or --archived")
			}
			text := "%s is changed."
			if lands {
				if f.land == landOff {
					f.land = ""
				}
				if err := o.usableTarget(ctx, f.land); err != nil {
					return err
				}
				if err := o.SetLand(ctx, a.actor(), slug, f.land); err != nil {
					return err
				}
				text = boardtext.Lands(f.land)
			}
			return a.putProject(ctx, o, p, text)
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&f.archived, "archived", false, "accept no new tasks and hand out none")
	cmd.Flags().StringVar(&f.land, "land", "", "where accepted work is landed: main, origin/main or pr:main; "+landOff+": nowhere")
	return a.forPeople(cmd)
}

// landOff switches landing off.
const landOff = "off"

// enforced is the project as the board has it, nil if it is not there yet.
func (a *app) enforced(ctx context.Context) (*board.Project, error) {
	o, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(o.projects, func(p board.Project) bool { return p.Slug == o.slug })
	if i < 0 {
		return nil, nil
	}
	return &o.projects[i], nil
}

// applySettings changes a project to what is configured, and reports whether anything is.
func applySettings(s *config.Settings, p *board.Project) (any bool) {
	if s.IsSet("policy") {
		p.Policy, any = board.Policy(s.Policy), true
	}
	if s.IsSet("lease") {
		p.Lease, any = s.Lease, true
	}
	if s.IsSet("skills") {
		p.Skills, any = s.Skills, true
	}
	return any
}

func (a *app) putProject(ctx context.Context, o *openBoard, p board.Project, text string) error {
	if err := o.SetProject(ctx, p); err != nil {
		return err
	}
	p, err := o.Project(ctx, p.Slug)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(boardjson.FromProject(p))
	}
	a.Linef("%s", strings.ReplaceAll(text, "%s", p.Slug))
	return nil
}

func (a *app) projectList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List projects", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			if a.JSON {
				list := make([]boardjson.Project, 0, len(o.projects))
				for _, p := range o.projects {
					list = append(list, boardjson.FromProject(p))
				}
				return a.PrintJSON(struct {
					Projects []boardjson.Project `json:"projects"`
				}{list})
			}
			if len(o.projects) == 0 {
				a.Linef("No projects yet.")
				if o.slug != "" {
					a.Linef("%s", a.Styled(console.Dim, "The first task creates "+o.slug+": bossman task add TITLE"))
				}
				return nil
			}
			var rows []console.Row
			for _, p := range o.projects {
				c, err := o.Summary(cmd.Context(), p.Slug)
				if err != nil {
					return err
				}
				state := ""
				if p.Keep > 0 {
					state = "keeps " + console.Age(p.Keep).String()
				}
				if p.Land != "" {
					state = "lands on " + console.OneLine(p.Land)
				}
				if p.PausedBy != "" {
					state = "paused by " + console.OneLine(p.PausedBy)
				}
				if p.Archived {
					state = "archived"
				}
				name := console.OneLine(p.Name)
				if name == p.Slug {
					name = ""
				}
				rows = append(rows, console.Row{
					console.Cyan.Cell(p.Slug),
					console.Text(name),
					console.Text(string(p.Policy)),
					console.Text(console.Count(c.Counts.Total(), "task")),
					console.Dim.Cell(strings.Join(p.Skills, ",")),
					console.Yellow.Cell(state),
				})
			}
			a.Table("", []console.Column{{Head: "PROJECT"}, {Head: "NAME", Flex: true}, {Head: "POLICY"}, {Head: "TASKS"}, {Head: "SKILLS", Drop: 1}, {Head: ""}}, rows)
			return nil
		},
	}
}
