package cli

import (
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Given returns the command line of a command with the flags that were given, but for some,
// as one would type it again.
func Given(cmd *cobra.Command, but ...string) string {
	line := cmd.CommandPath()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(but, f.Name) {
			return
		}
		line += " --" + f.Name
		value := f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",")
		}
		switch {
		case f.Value.Type() != "bool":
			line += " " + console.ShellWords(value)
		case value != "true":
			line += "=" + value
		}
	})
	return line
}
