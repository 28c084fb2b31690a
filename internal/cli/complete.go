package cli

import (
	"context"
	"strings"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completeArgs completes the arguments of a command.
func completeArgs(cmd *cobra.Command, open func(context.Context) (Source, error)) {
	v := argTable[path(cmd)]
	if v == nil {
		return
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if v.most > 0 && len(args) >= v.most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return v.complete(cmd, prefix, open)
	}
}

// completeFlags completes the flags of a command. Flags that all commands have belong to the
// root.
func completeFlags(cmd *cobra.Command, open func(context.Context) (Source, error)) {
	complete := func(f *pflag.Flag) {
		v := flagValues(cmd, f)
		if v == nil {
			return
		}
		_, isList := f.Value.(pflag.SliceValue)
		_ = cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
			before := ""
			if i := strings.LastIndex(prefix, ","); i >= 0 && isList {
				before, prefix = prefix[:i+1], prefix[i+1:]
			}
			out, directive := v.complete(cmd, prefix, open)
			for i := range out {
				out[i] = before + out[i]
			}
			return out, directive
		})
	}
	cmd.LocalFlags().VisitAll(complete)
}

// complete returns the values that begin with prefix, in any letter case.
func (v *values) complete(cmd *cobra.Command, prefix string, open func(context.Context) (Source, error)) ([]string, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	if len(v.enum) > 0 && strings.HasSuffix(v.enum[0], "=") {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	var all []string
	if v.find != nil {
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		if s, err := open(ctx); err == nil {
			all, _ = v.find(ctx, s) // what was found, if not all
			all = console.Words(all)
		}
	}
	var out []string
	for _, value := range append(all, v.enum...) {
		if len(value) >= len(prefix) && strings.EqualFold(value[:len(prefix)], prefix) {
			out = append(out, value)
		}
	}
	return out, directive
}
