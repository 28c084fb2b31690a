package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardcli"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/github"
	"github.com/bossman-dev/bossman/internal/landcli"
	"github.com/spf13/cobra"
)

func (a *app) taskImport() *cobra.Command {
	var from string
	var labels []string
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Import tasks from an export, or issues from GitHub",
		Args: func(cmd *cobra.Command, args []string) error {
			if from != "" {
				return cobra.MaximumNArgs(1)(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		Long: `Import reads the file of an export or an archive; - is standard input. In an empty project
tasks keep their numbers; otherwise they get new ones, and old and new ids are printed. What
was archived from the same board gets its numbers back; several archives of a project may be
read in a row (cat *.gz). A board that has no project yet gets that of the file; its policy,
lease and skills count where the configuration has none, and are printed. Repeating the
import adds only what is missing. No task is handed out until all are imported; tasks that
were in progress are ready again.

With --from github [OWNER/REPO] it reads the open issues of a repository at GitHub, by default
that of this clone, with the command gh. Each becomes a draft, once. When a task is done, or
has landed, its issue gets a comment.`,
		Example: "  bossman task import web.jsonl\n  bossman task import --from github acme/web --label agent",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if from != "" || len(labels) > 0 {
				return a.importIssues(ctx, from, args, labels)
			}
			text, err := a.ReadFile(ctx, args[0], console.MaxInput)
			if err := cmp.Or(a.RefuseAgent(), err); err != nil { // an export says who people are, and what was observed
				return fmt.Errorf("read the export: %w", err)
			}
			lines, err := boardcli.ReadArchive(a.Console, args[0], text)
			if err != nil {
				return err
			}
			source, err := boardcli.ReadSource(lines)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			s, err := a.settings()
			if err != nil {
				return err
			}
			set := map[string]string{}
			o, err := a.openWith(ctx, s, func(home *board.Project) { set = adopt(home, source.Project, s) })
			if err != nil {
				return err
			}
			slug := o.slug
			if slug == "" {
				slug = source.Project.Slug
			}
			b, err := o.localBoard()
			if err != nil {
				return err
			}
			if o.server && !slices.ContainsFunc(o.projects, func(p board.Project) bool { return p.Slug == slug }) {
				home := s.HomeProject(slug)
				set = adopt(home, source.Project, s)
				if err := b.SetProject(ctx, *home); err != nil {
					return err
				}
			}
			out, err := b.Import(ctx, a.actor(), slug, lines, boardcli.ImportProgress(a.Console))
			if err != nil {
				return console.WithNext(fmt.Errorf("import %s: %w", args[0], err), boardcli.ImportAdvice(out))
			}
			return a.showImported(out, set)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "import issues from there: github")
	cmd.Flags().StringArrayVar(&labels, "label", nil, "only issues with this label; may be repeated")
	return cmd
}

// importIssues makes drafts of issues.
func (a *app) importIssues(ctx context.Context, from string, args, labels []string) error {
	if from != "github" {
		return console.Usagef("issues are imported with --from github")
	}
	if err := a.RefuseAgent(); err != nil {
		return err
	}
	o, slug, err := a.openProject(ctx)
	if err != nil {
		return err
	}
	tracker := github.CLI{Close: o.settings.Land.CloseIssues}
	if len(args) > 0 {
		tracker.Repo = args[0]
	} else if _, repo, err := o.repository(); err == nil {
		tracker.Repo = repo.Remote()
	}
	return landcli.ImportIssues(ctx, a.Console, o, a.actor(), slug, tracker, labels)
}

// adopt makes the project of an export that of a board that has none yet. What the
// configuration says stands: anybody can write an export. It returns what the file sets.
func adopt(home *board.Project, file board.Project, s *config.Settings) map[string]string {
	if !s.IsSet("project") {
		home.Slug, home.Name = file.Slug, file.Name
	}
	set := map[string]string{}
	if !s.IsSet("policy") && file.Policy != "" {
		home.Policy, set["policy"] = file.Policy, string(file.Policy)
	}
	if !s.IsSet("lease") && file.Lease > 0 {
		home.Lease, set["lease"] = file.Lease, file.Lease.String()
	}
	if !s.IsSet("skills") && len(file.Skills) > 0 {
		home.Skills, set["skills"] = file.Skills, strings.Join(file.Skills, ", ")
	}
	return set
}

// showImported says what was imported, and what the file has set for a new project.
func (a *app) showImported(out board.Imported, set map[string]string) error {
	from := slices.SortedFunc(maps.Keys(out.Tasks), func(x, y board.ID) int { return int(x.No - y.No) })
	if a.JSON {
		shown := struct {
			Project     string            `json:"project"`
			Imported    int               `json:"imported"`
			Known       int               `json:"known"`
			NumbersKept bool              `json:"numbers_kept"`
			Tasks       map[string]string `json:"tasks"`
			Questions   map[string]string `json:"questions"`
			Set         map[string]string `json:"set,omitzero"`
		}{out.Project, out.Made, len(out.Tasks) - out.Made, out.Kept, map[string]string{}, map[string]string{}, set}
		for _, id := range from {
			shown.Tasks[id.String()] = out.Tasks[id].String()
		}
		for old, id := range out.Questions {
			shown.Questions[old.String()] = id.String()
		}
		return a.PrintJSON(shown)
	}
	a.Linef("%s imported into %s, %d already there.", console.Count(out.Made, "task"), out.Project, len(out.Tasks)-out.Made)
	for _, key := range slices.Sorted(maps.Keys(set)) {
		a.Field("", console.Text("The file sets the "+key+" of the new project:"), console.Text(set[key]))
		a.Linef("To change it: bossman project set --%s", strings.TrimSuffix(key, "s"))
	}
	if out.Kept {
		return nil
	}
	for _, id := range from {
		a.Linef("%v → %v", id, out.Tasks[id])
	}
	return nil
}
