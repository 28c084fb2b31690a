package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// noArgs refuses arguments of a command that only has subcommands.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknown(cmd, args[0])
}

// unknown is the error for a command that does not exist.
func unknown(cmd *cobra.Command, name string) error {
	next := cmd.CommandPath() + " --help"
	if best := suggest(cmd, name); len(best) > 0 {
		next = "did you mean " + strings.Join(best, " or ") + "? " + next + " lists all"
	}
	return console.Errorf(console.Usage, next, "unknown command %q for %q", name, cmd.CommandPath())
}

// suggest returns the commands that name may stand for: those of that name
// elsewhere, or those that are spelt alike.
func suggest(cmd *cobra.Command, name string) []string {
	var out []string
	each(cmd.Root(), func(c *cobra.Command) {
		if strings.EqualFold(c.Name(), name) && c.IsAvailableCommand() && len(out) < 5 {
			out = append(out, c.CommandPath())
		}
	})
	if len(out) > 0 {
		return out
	}
	paths := map[string]string{}
	var names []string
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() && c.Name() != "help" {
			continue
		}
		for _, n := range append([]string{c.Name()}, c.Aliases...) {
			names = append(names, n)
			paths[n] = c.CommandPath()
		}
	}
	for _, n := range console.Near(name, names) {
		out = append(out, paths[n])
	}
	return out
}

// flagError is the error for a flag that was misspelt or has the wrong value.
func flagError(cmd *cobra.Command, err error) error {
	next := cmd.CommandPath() + " --help"
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		add := func(f *pflag.Flag) {
			if !f.Hidden && !slices.Contains(names, f.Name) { // inherited ones are in both
				names = append(names, f.Name)
			}
		}
		cmd.Flags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
		if best := console.Near(missing.GetSpecifiedName(), names); len(best) > 0 {
			next = "did you mean --" + strings.Join(best, " or --") + "? " + next + " lists all"
		}
	}
	return &console.Error{Code: console.Usage, Err: err, Next: next}
}

// Check refuses values of flags that are none of the choices, and suggests one. It writes
// those that differ in letter case as they should be.
func Check(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		v := flagValues(cmd, f)
		if err != nil || v == nil || v.enum == nil || v.loose {
			return
		}
		list, isList := f.Value.(pflag.SliceValue)
		given := []string{f.Value.String()}
		if isList {
			given = list.GetSlice()
		}
		for i, text := range given {
			if text == "" {
				continue
			}
			if given[i], err = choose("--"+f.Name, text, v.enum); err != nil {
				return
			}
		}
		if isList {
			err = list.Replace(given)
		} else {
			err = f.Value.Set(given[0])
		}
	})
	return err
}

// choose returns the choice that a text stands for.
func choose(what, text string, choices []string) (string, error) {
	plain := func(s string) string {
		return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimSpace(s)))
	}
	for _, c := range choices {
		if plain(c) == plain(text) {
			return c, nil
		}
	}
	next := ""
	if best := console.Near(plain(text), choices); len(best) > 0 {
		next = "did you mean " + strings.Join(best, " or ") + "?"
	}
	last := len(choices) - 1
	return "", console.Errorf(console.Usage, next, "invalid %s %.40q: want %s or %s", what, text, strings.Join(choices[:last], ", "), choices[last])
}

// helpCommand is bossman help. Unlike cobra's own it fails for what does not exist.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND…]", Short: "Help about a command",
		ValidArgsFunction: func(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var out []string
			for _, c := range cmd.Commands() {
				if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), prefix) {
					out = append(out, fmt.Sprintf("%s\t%s", c.Name(), c.Short))
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 && cmd.HasSubCommands() {
				return unknown(cmd, rest[0])
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}
