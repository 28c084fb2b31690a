package gatewaycli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/gateway"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// A command is bossman gateway on a console.
type command struct {
	*console.Console
	load func() (*Place, error)
	user string
}

// Command returns bossman gateway. load reads the configuration; user is the name of who runs it.
func Command(out *console.Console, load func() (*Place, error), user string) *cobra.Command {
	c := &command{out, load, user}
	cmd := &cobra.Command{Use: "gateway", Short: "Other MCP servers behind this one: their tools and approvals"}
	cmd.AddCommand(c.list(), c.diff(), c.approve(), c.logs(), c.login(), c.importCommand())
	return cmd
}

// open returns the gateway as it is stored. It starts nothing.
func (c *command) open(ctx context.Context) (*gateway.Gateway, error) {
	place, err := c.load()
	if err != nil {
		return nil, err
	}
	g, err := place.View(ctx)
	if g == nil && err == nil && place.Ignored != "" {
		return nil, console.Errorf(console.NotFound, "correct that; bossman config show lists all that is ignored", "no server is configured; ignored: %s", place.Ignored)
	}
	if g == nil && err == nil {
		return nil, console.Errorf(console.NotFound, "docs/gateway.md shows a first section", "your config.toml has no section [upstream.NAME]")
	}
	return g, err
}

// itemJSON is an item with --json.
type itemJSON struct {
	Upstream string `json:"upstream"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Listed   string `json:"published,omitzero"`
	Class    string `json:"class,omitzero"`
	Hash     string `json:"hash"`
	Withheld string `json:"withheld,omitzero"`
}

func (c *command) list() *cobra.Command {
	var start bool
	cmd := &cobra.Command{
		Use: "list [UPSTREAM]", Short: "List the tools of all upstreams, and which are withheld", Args: cobra.MaximumNArgs(1),
		Long: `List shows the tools and prompts that the upstreams listed when they ran last, under the names
that agents see. One that is withheld has no such name: its definition was not approved, or
its name is that of another tool.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			g, err := c.open(ctx)
			if err != nil {
				return err
			}
			if start {
				if err := c.refresh(ctx, g, args); err != nil {
					return err
				}
			}
			items, err := chosen(g, args)
			if err != nil {
				return err
			}
			if c.JSON {
				list := []itemJSON{}
				for _, it := range items {
					list = append(list, itemJSON{it.Upstream, string(it.Kind), it.Name, it.Published, string(it.Class), it.Hash, it.Withheld})
				}
				return c.PrintJSON(list)
			}
			var rows []console.Row
			for _, it := range items {
				state := "ok"
				if it.Withheld != "" {
					state = "withheld: " + it.Withheld
				}
				name := it.Published
				if name == "" {
					name = it.Upstream + " " + it.Name
				}
				rows = append(rows, console.Row{console.Text(name), console.Text(string(it.Kind)), console.Text(string(it.Class)), console.Text(state)})
			}
			if len(rows) > 0 {
				c.Table("", []console.Column{{Head: "NAME"}, {Head: "KIND"}, {Head: "CLASS"}, {Head: "STATE", Flex: true}}, rows)
			}
			for _, s := range g.Statuses() {
				if s.Listed.IsZero() && (len(args) == 0 || args[0] == s.Upstream) {
					c.Infof("%s was never started: the first agent does, or bossman gateway list --start", s.Upstream)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&start, "start", false, "start the upstreams and read their lists now")
	return cmd
}

// refresh starts upstreams and reads their lists, at the same time.
func (c *command) refresh(ctx context.Context, g *gateway.Gateway, args []string) error {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	type result struct {
		name string
		err  error
	}
	var names []string
	for _, name := range g.Upstreams() {
		if len(args) == 0 || args[0] == name {
			names = append(names, name)
		}
	}
	results := make(chan result)
	for _, name := range names {
		go func() { results <- result{name, g.Refresh(ctx, name)} }()
	}
	for range names {
		if r := <-results; r.err != nil {
			c.Infof("%s: %v", r.name, r.err)
		}
	}
	cancel()
	<-done
	return nil
}

// chosen returns the items of an upstream, or all.
func chosen(g *gateway.Gateway, args []string) ([]gateway.Item, error) {
	if len(args) > 0 && !slices.Contains(g.Upstreams(), args[0]) {
		return nil, console.Errorf(console.NotFound, "bossman gateway list shows what there is", "there is no upstream %q", args[0])
	}
	return slices.DeleteFunc(g.Items(), func(it gateway.Item) bool { return len(args) > 0 && it.Upstream != args[0] }), nil
}

// unapproved returns the items that wait for approval.
func unapproved(items []gateway.Item) []gateway.Item {
	return slices.DeleteFunc(items, func(it gateway.Item) bool { return !it.Approvable })
}

func (c *command) diff() *cobra.Command {
	return &cobra.Command{
		Use: "diff [UPSTREAM]", Short: "Show definitions that are not approved, beside those that are", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			g, err := c.open(cmd.Context())
			if err != nil {
				return err
			}
			items, err := chosen(g, args)
			if err != nil {
				return err
			}
			items = unapproved(items)
			if len(items) == 0 {
				c.Infof("everything is approved")
			}
			for _, it := range items {
				c.show(g, it)
			}
			return nil
		},
	}
}

// show prints how the definition of an item differs from the approved one.
func (c *command) show(g *gateway.Gateway, it gateway.Item) {
	c.Linef("%s %s of %s: %s", it.Kind, it.Name, it.Upstream, it.Withheld)
	for _, line := range g.Changes(it) {
		c.Linef("  %s", line)
	}
}

func (c *command) approve() *cobra.Command {
	var all, yes bool
	cmd := &cobra.Command{
		Use: "approve UPSTREAM [NAME]...", Short: "Approve definitions as they are now", Args: cobra.MinimumNArgs(1),
		Long: `Approve shows the definitions of an upstream that are not approved, and asks whether agents may use
them. Read them: a model obeys what a description says. What a server does under the same
text, no approval shows.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.RefuseAgent(); err != nil {
				return err
			}
			ctx := cmd.Context()
			g, err := c.open(ctx)
			if err != nil {
				return err
			}
			items, err := chosen(g, args[:1])
			if err != nil {
				return err
			}
			items = unapproved(items)
			if names := args[1:]; len(names) > 0 {
				items = slices.DeleteFunc(items, func(it gateway.Item) bool { return !slices.Contains(names, it.Name) })
			} else if !all {
				return console.Usagef("name the tools to approve, or add --all")
			}
			if len(items) == 0 {
				return console.Errorf(console.NotFound, "bossman gateway diff "+args[0], "nothing of that waits for approval")
			}
			for _, it := range items {
				c.show(g, it)
			}
			if !yes {
				answer, err := c.Prompt(ctx, fmt.Sprintf("Approve %s? [y/N] ", console.Count(len(items), "definition")))
				if err != nil {
					return err
				}
				if answer != "y" && answer != "yes" {
					return console.Errorf(console.Denied, "nothing was changed", "not approved")
				}
			}
			if err := g.Approve(ctx, c.user, items...); err != nil {
				return err
			}
			c.Infof("approved %s; running servers see it within seconds", console.Count(len(items), "definition"))
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "approve everything of the upstream that waits")
	cmd.Flags().BoolVar(&yes, "yes", false, "approve without asking, for scripts that people write")
	return cmd
}

func (c *command) logs() *cobra.Command {
	return &cobra.Command{
		Use: "logs UPSTREAM", Short: "Show what an upstream wrote to its standard error", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			place, err := c.load()
			if err != nil {
				return err
			}
			list, err := place.Upstreams()
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(list, func(u gateway.Upstream) bool { return u.Name == args[0] }) {
				return console.Errorf(console.NotFound, "bossman gateway list shows what there is", "there is no upstream %q", args[0])
			}
			text, err := os.ReadFile(gateway.LogFile(place.State, args[0]))
			if errors.Is(err, fs.ErrNotExist) {
				c.Infof("%s wrote nothing yet", args[0])
				return nil
			}
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(text)) {
				c.Linef("%s", strings.TrimSuffix(line, "\n"))
			}
			return nil
		},
	}
}
